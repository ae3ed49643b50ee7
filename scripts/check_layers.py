#!/usr/bin/env python3
"""Fails if a source file includes a module that its CMakeLists.txt does not list in DEPS."""
import pathlib, re, sys

ROOT = pathlib.Path(__file__).resolve().parent.parent / "src"


def allowed_deps():
    """module -> modules it may include, from shoal_library(<name> ... DEPS a b)."""
    deps = {}
    for path in ROOT.glob("*/CMakeLists.txt"):
        module = path.parent.name
        text = path.read_text()
        match = re.search(r"shoal_library\(\s*%s\b([^)]*)\)" % module, text)
        listed = re.search(r"\bDEPS\b([^)]*)", match.group(1)) if match else None
        deps[module] = {module} | set(listed.group(1).split() if listed else [])
    return deps


def violations(deps):
    for path in sorted(ROOT.glob("*/**/*")):
        if path.suffix not in (".h", ".cc") or path.name.endswith("_test.cc"):
            continue
        module = path.relative_to(ROOT).parts[0]
        for line_number, line in enumerate(path.read_text().splitlines(), start=1):
            match = re.match(r'#include "([a-z_]+)/', line)
            if match and match.group(1) not in deps.get(module, {module}):
                yield f"{path.relative_to(ROOT.parent)}:{line_number}: {module} may not include {match.group(1)}"


if __name__ == "__main__":
    found = list(violations(allowed_deps()))
    print("\n".join(found) or "layers: ok")
    sys.exit(bool(found))
