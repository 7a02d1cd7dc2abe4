# SPDX-License-Identifier: Apache-2.0
"""What the tests of all folders start from."""

import signal

# A shell without job control starts what runs in its background with Ctrl-C ignored, and a program
# keeps that: the tests that interrupt programs would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)
