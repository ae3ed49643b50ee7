#!/usr/bin/env python3
"""Fails if a source file includes a module that its CMakeLists.txt does not list in DEPS,
or if DEPS name a module further down in src/CMakeLists.txt."""
import pathlib
import re
import sys

SRC = pathlib.Path(__file__).resolve().parent.parent / "src"


def layer_order():
    """The modules as src/CMakeLists.txt lists them, lowest first."""
    return re.findall(r"add_subdirectory\((\w+)\)", (SRC / "CMakeLists.txt").read_text())


def declared_deps(module):
    """The modules after DEPS in shoal_library(<module> ...)."""
    text = (SRC / module / "CMakeLists.txt").read_text()
    library = re.search(r"shoal_library\(\s*%s\b([^)]*)\)" % module, text)
    deps = re.search(r"\bDEPS\b((?:\s+[a-z_]+\b)*)", library.group(1)) if library else None
    return deps.group(1).split() if deps else []


def order_violations(order):
    for module in order:
        for dep in declared_deps(module):
            if dep not in order or order.index(dep) >= order.index(module):
                yield f"src/{module}/CMakeLists.txt: {module} may not depend on {dep}"


def include_violations(order):
    for module in order:
        allowed = {module, *declared_deps(module)}
        for path in sorted((SRC / module).rglob("*")):
            if path.suffix not in (".h", ".cc") or path.name.endswith(("_test.cc", "_for_test.h")):
                continue
            for number, line in enumerate(path.read_text().splitlines(), start=1):
                match = re.match(r'#include "([a-z_]+)/', line)
                if match and match.group(1) not in allowed:
                    yield f"src/{path.relative_to(SRC)}:{number}: {module} may not include {match.group(1)}"


def main():
    order = layer_order()
    found = [*order_violations(order), *include_violations(order)]
    found += [f"src/{path.name}: not listed in src/CMakeLists.txt"
              for path in sorted(SRC.iterdir()) if path.is_dir() and path.name not in order]
    print("\n".join(found) or "layers: ok")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
