"""What every test has: a cache folder of its own, never that of the person who runs the tests."""

from __future__ import annotations

import os
import tempfile

_folder = tempfile.TemporaryDirectory(prefix="quillo-tests-")
os.environ["XDG_CACHE_HOME"] = _folder.name
