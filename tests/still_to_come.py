STILL_TO_COME: tuple[str, ...] = ()
