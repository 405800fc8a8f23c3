#!/usr/bin/env python3
"""The architecture checks must refuse what they are there to refuse: each is given a small tree with one thing wrong.

usage: checks_test.py [unittest arguments]; CXX names the compiler.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import check_headers  # noqa: E402
import check_layers  # noqa: E402
import check_oracle  # noqa: E402
import check_text  # noqa: E402

CXX = os.environ.get("CXX", "c++")


class Tree(unittest.TestCase):
    """A folder that goes away, and writing files into it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class Layers(Tree):
    def setUp(self):
        super().setUp()
        self.write("scripts/layers.txt", "lib/base:\nlib/high: lib/base\ncuda/high: lib/high\n<mpi.h>: lib/high\n")
        self.write("lib/base/a.hpp", "#pragma once\n#include <vector>\n")
        self.write("lib/high/b.hpp", '#pragma once\n#include <mpi.h>\n#include "base/a.hpp"\n')
        self.write("cuda/high/c.cu", '#include "high/b.hpp"\n')

    def refused(self, words):
        bad, _ = check_layers.check(self.root)
        self.assertEqual(len(bad), 1, bad)
        self.assertIn(words, bad[0])

    def test_accepts_a_good_tree(self):
        self.assertEqual(check_layers.check(self.root), ([], 3))

    def test_refuses_an_include_upwards(self):
        self.write("lib/base/a.cpp", '#include "high/b.hpp"\n')
        self.refused("lib/base/a.cpp:1: lib/base may not include lib/high")

    def test_refuses_a_jump_over_what_the_table_allows(self):
        self.write("cuda/high/d.cpp", '\n  #  include "base/a.hpp"\n')
        self.refused("cuda/high/d.cpp:2: cuda/high may not include lib/base")

    def test_refuses_a_fenced_header(self):
        self.write("lib/base/a.cpp", "#include <mpi.h>\n")
        self.refused("<mpi.h> belongs in lib/high")

    def test_refuses_a_folder_that_is_not_listed(self):
        self.write("lib/new/a.cpp", "\n")
        self.refused("lib/new is not listed")

    def test_refuses_an_include_relative_to_the_file(self):
        self.write("lib/base/a.cpp", '#include "a.hpp"\n')
        self.refused('"a.hpp" is in none of')

    def test_refuses_one_of_ours_in_angle_brackets(self):
        self.write("lib/high/b.cpp", "#include <base/a.hpp>\n")
        self.refused("it is ours")

    def test_refuses_a_name_that_two_folders_have(self):
        self.write("cuda/high/b.hpp", "#pragma once\n")
        self.refused("which one depends on -I order")

    def test_refuses_a_circle_in_the_table(self):
        self.write("scripts/layers.txt", "lib/base: lib/high\nlib/high: lib/base\ncuda/high: lib/high\n<mpi.h>: lib/high\n")
        self.refused("does not stand above it")


class Text(Tree):
    def refused(self, name, text, words):
        self.write("lib/base/good.hpp", "#pragma once\n#include <vector>\n")
        self.assertEqual(check_text.check(self.root), ([], 1))
        self.write(name, text)
        bad, _ = check_text.check(self.root)
        self.assertEqual(len(bad), 1, bad)
        self.assertIn(words, bad[0])

    def test_refuses_define(self):
        self.refused("lib/base/a.cpp", "#define X 1\n", "a.cpp:1: #define")

    def test_refuses_if(self):
        self.refused("cuda/base/a.cu", "\n # ifdef __CUDA_ARCH__\n", "a.cu:2: #ifdef")

    def test_refuses_a_mark(self):
        self.refused("lib/base/a.cpp", "// TO" + "DO later\n", "open an issue")

    def test_refuses_printing_outside_cmd(self):
        self.write("cmd/tool/main.cpp", "void f() { std::cout << 1; }\n// std::cout\n")
        self.assertEqual(check_text.check(self.root), ([], 1))
        self.write("lib/base/a.cpp", "void f() { std::cerr << 1; }\n")
        self.assertEqual(len(check_text.check(self.root)[0]), 1)

    def test_refuses_a_giant(self):
        self.refused("lib/base/a.cpp", "\n" * (check_text.MOST_LINES + 1), "split it")

    def test_refuses_a_header_without_pragma_once(self):
        self.refused("lib/base/a.hpp", "struct A {};\n", "no #pragma once")


@unittest.skipUnless(shutil.which("ninja") or shutil.which("ninja-build"), "ninja is not on PATH")
class Oracle(Tree):
    """A project of three files, built by Ninja as CMake would have it built."""

    NINJA = ("rule cxx\n  command = {cxx} -std=c++20 -I{root}/lib -MD -MF $out.d -c $in -o $out\n  depfile = $out.d\n"
             "  deps = gcc\nrule ar\n  command = rm -f $out && ar rcs $out $in\n"
             "build o/oracle.o: cxx {root}/lib/oracle/oracle.cpp\nbuild o/base.o: cxx {root}/lib/base/base.cpp\n"
             "build libdrift_oracle.a: ar o/oracle.o\n{more}")

    def setUp(self):
        super().setUp()
        self.write("lib/oracle/oracle.hpp", "namespace oracle { int answer(); }\n")
        self.write("lib/base/base.hpp", "#pragma once\nnamespace drift { inline int help() { return 1; } int probe(); }\n")
        self.write("lib/base/base.cpp", '#include "base/base.hpp"\nint drift::probe() { return 2; }\nint plain() { return 3; }\n')

    def check(self, oracle, more=""):
        self.write("lib/oracle/oracle.cpp", '#include "oracle/oracle.hpp"\n' + oracle)
        self.write("build/build.ninja", self.NINJA.format(cxx=CXX, root=self.root, more=more))
        ninja = shutil.which("ninja") or shutil.which("ninja-build")
        subprocess.run([ninja, "-C", str(self.root / "build")], check=True, capture_output=True)
        return check_oracle.check(self.root, self.root / "build", "libdrift_oracle.a")[0]

    def test_accepts_an_oracle_of_its_own(self):
        self.assertEqual(self.check("int oracle::answer() { return 42; }\n"), [])

    def test_refuses_a_header_of_ours_although_nothing_of_it_is_used(self):
        bad = self.check('#include "base/base.hpp"\nint oracle::answer() { return 42; }\n')
        self.assertEqual(bad, ["o/oracle.o: reads lib/base/base.hpp"])

    def test_refuses_a_symbol_of_ours_although_no_header_is_read(self):
        bad = self.check("int plain();\nint oracle::answer() { return plain(); }\n")
        self.assertEqual(bad, ["o/oracle.o: needs plain()"])

    def test_refuses_namespace_drift_although_nobody_defines_it(self):
        bad = self.check("namespace drift { int nowhere(); }\nint oracle::answer() { return drift::nowhere(); }\n")
        self.assertEqual(bad, ["o/oracle.o: needs drift::nowhere()"])

    def test_refuses_to_help_candidates(self):
        bad = self.check("namespace drift { int given() { return 1; } }\nint oracle::answer() { return 42; }\n")
        self.assertEqual(bad, ["o/oracle.o: defines drift::given()"])

    def test_refuses_the_oracle_compiled_elsewhere(self):
        bad = self.check("int oracle::answer() { return 42; }\n",
                         f"build o/again.o: cxx {self.root}/lib/oracle/oracle.cpp\n")
        self.assertIn("o/again.o: is made from the oracle's sources but is not in libdrift_oracle.a", bad)


class Headers(Tree):
    def check(self):
        options = types.SimpleNamespace(root=self.root, compiler=CXX, nvcc="", include=[], jobs=2)
        return check_headers.check(options)

    def test_refuses_a_header_that_lacks_an_include(self):
        self.write("lib/base/good.hpp", "#pragma once\n#include <string>\ninline std::string a() { return {}; }\n")
        self.write("lib/base/bad.hpp", "#pragma once\ninline std::string b() { return {}; }\n")
        bad, compiled, built, skipped = self.check()
        self.assertEqual([name for name, _ in bad], ["lib/base/bad.hpp"])
        self.assertEqual((compiled, built, skipped), (2, 0, 0))

    def test_leaves_a_header_to_the_build_only_if_its_own_file_has_it_first(self):
        self.write("lib/base/first.hpp", "#pragma once\n")
        self.write("lib/base/first.cpp", '// why\n#include "base/first.hpp"\n')
        self.write("lib/base/late.hpp", "#pragma once\ninline std::string b() { return {}; }\n")
        self.write("lib/base/late.cpp", '#include <string>\n#include "base/late.hpp"\n')
        bad, compiled, built, _ = self.check()
        self.assertEqual([name for name, _ in bad], ["lib/base/late.hpp"])
        self.assertEqual((compiled, built), (1, 1))

    def test_says_what_it_did_not_check(self):
        self.write("cuda/backend/gpu.hpp", "#pragma once\n#include <cuda_runtime_api_is_not_here.h>\n")
        self.assertEqual(self.check(), ([], 0, 0, 1))


if __name__ == "__main__":
    unittest.main()
