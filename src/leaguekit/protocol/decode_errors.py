"""What a JSON decoder raises. A module of its own, because ``errors`` must not load msgspec."""

from __future__ import annotations

import msgspec

# For bytes that are not JSON of the expected type, are not UTF-8, or are nested too deeply.
DECODE_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
