"""MLX's functions, of the host's default."""

def get_active_memory() -> int:
    """Bytes handed out, by capacity."""

def get_peak_memory() -> int:
    """The largest active since the reset."""

def reset_peak_memory() -> None:
    """0 until the next malloc."""

def get_cache_memory() -> int:
    """Bytes kept for reuse."""

def get_memory_limit() -> int:
    """In bytes."""

def set_memory_limit(bytes: int, hard: bool) -> int:
    """The limit before."""

def set_cache_limit(bytes: int) -> int:
    """The limit before."""

def set_wired_limit(bytes: int) -> int:
    """The limit before."""

def clear_cache() -> None:
    """Gives what is cached back."""
