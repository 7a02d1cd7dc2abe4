# SPDX-License-Identifier: Apache-2.0
"""Ways for one piece of Python to call another. Each link calls `rest` once, somewhere inside.

A random stack is a random sequence of links; what stands at its inner end compares the capture with
what Python itself tells.
"""

import functools
import itertools
import threading

_count = itertools.count()


def plain(rest):
    rest()


def on_one_of_two_lines(rest):
    if next(_count) % 2:
        rest()
    else:
        rest()


def short_lambda(rest):
    (lambda: rest())()


def generator(rest):
    def run():
        yield rest()

    next(run())


def delegating_generator(rest):
    def inner():
        yield 0
        rest()

    def outer():
        yield from inner()

    list(outer())


def generator_expression(rest):
    sum(rest() or 1 for _ in (0,))


def thrown_into_generator(rest):
    def run():
        try:
            yield
        except KeyError:
            rest()
            yield

    made = run()
    next(made)
    made.throw(KeyError())


def coroutine(rest):
    async def inner():
        rest()

    async def outer():
        await inner()

    try:
        outer().send(None)
    except StopIteration:
        pass


def asynchronous_generator(rest):
    async def produce():
        rest()
        yield 1

    async def consume():
        async for _ in produce():
            pass

    try:
        consume().send(None)
    except StopIteration:
        pass


def comprehensions(rest):
    [rest() for _ in (0,)]


def nested_comprehension(rest):
    {key: [rest() for _ in (0,)] for key in (0,)}


def wrap(function):
    @functools.wraps(function)
    def wrapper(*arguments, **named):
        return function(*arguments, **named)

    return wrapper


@wrap
@wrap
def decorated(rest):
    rest()


class Thing:
    def __init__(self, rest, inside=False):
        self.rest = rest
        if inside:
            rest()

    def method(self):
        self.rest()

    @property
    def value(self):
        self.rest()

    def __getitem__(self, key):
        self.rest()

    def __call__(self):
        self.rest()

    def __enter__(self):
        self.rest()

    def __exit__(self, *error):
        pass

    def __eq__(self, other):
        self.rest()
        return True

    def __iter__(self):
        self.rest()
        return iter(())

    def __hash__(self):
        return 1


class Lazy:
    def __init__(self, rest):
        self.rest = rest

    def __getattr__(self, name):
        self.__dict__["rest"]()


class Dying:
    def __init__(self, rest):
        self.rest = rest

    def __del__(self):
        self.rest()


def constructor(rest):
    Thing(rest, inside=True)


def specialised_constructor(rest):
    for number in range(12):
        Thing(rest, inside=number == 11)


def bound_method(rest):
    Thing(rest).method()


def property_of_class(rest):
    return Thing(rest).value


def subscript(rest):
    Thing(rest)[0]


def callable_object(rest):
    Thing(rest)()


def context_manager(rest):
    with Thing(rest):
        pass


def comparison(rest):
    return Thing(rest) == 1


def iteration(rest):
    for _ in Thing(rest):
        pass


def missing_attribute(rest):
    return Lazy(rest).absent


def finaliser(rest):
    Dying(rest)


def finaliser_of_a_local(rest):
    def hold():
        held = Dying(rest)
        return id(held)

    hold()


def mapped(rest):
    list(map(lambda _: rest(), (0,)))


def sort_key(rest):
    sorted([0], key=lambda _: rest() or 0)


def partial(rest):
    functools.partial(plain, rest)()


def reduced(rest):
    functools.reduce(lambda left, right: rest(), (0, 1))


def through_c_twice(rest):
    list(map(lambda _: list(map(lambda _: rest(), (0,))), (0,)))


def class_body(rest):
    class Body:
        rest()


def evaluated(rest):
    eval("rest()", {"rest": rest})


def executed_and_deleted(rest):
    """Code that nothing holds afterwards: its address goes to other code, soon."""
    number = next(_count)
    name = f"executed_{number % 97}"
    padding = "\n" * (number % 13)
    text = f"{padding}def {name}(rest):\n    rest()\n"
    scope = {}
    exec(compile(text, f"<{name}>", "exec"), scope)
    scope.pop(name)(rest)


def exception_handler(rest):
    try:
        raise ValueError("on the way")
    except ValueError:
        rest()


def finally_block(rest):
    try:
        pass
    finally:
        rest()


def recursion(rest, depth=7):
    if depth:
        recursion(rest, depth - 1)
    else:
        rest()


def deep_recursion(rest):
    recursion(rest, 140)


def closure_with_cells(rest):
    value = 1

    def inner():
        nonlocal value
        value += 1
        rest()

    inner()


def other_thread(rest):
    errors = []

    def work():
        try:
            rest()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


RARE = (other_thread, deep_recursion)
LINKS = tuple(
    link
    for link in (
        plain,
        on_one_of_two_lines,
        short_lambda,
        generator,
        delegating_generator,
        generator_expression,
        thrown_into_generator,
        coroutine,
        asynchronous_generator,
        comprehensions,
        nested_comprehension,
        decorated,
        constructor,
        specialised_constructor,
        bound_method,
        property_of_class,
        subscript,
        callable_object,
        context_manager,
        comparison,
        iteration,
        missing_attribute,
        finaliser,
        finaliser_of_a_local,
        mapped,
        sort_key,
        partial,
        reduced,
        through_c_twice,
        class_body,
        evaluated,
        executed_and_deleted,
        executed_and_deleted,
        exception_handler,
        finally_block,
        recursion,
        closure_with_cells,
    )
)


def run(links, end):
    """Calls the links one inside the other, `end` innermost."""
    if links:
        links[0](functools.partial(run, links[1:], end))
    else:
        end()
