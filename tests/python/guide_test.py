"""The examples of docs/guide/python.md run, and say what the page says."""

import contextlib
import io
import os
import re
import subprocess
from pathlib import Path

from support import InFolder

GUIDE = Path(__file__).resolve().parents[2] / "docs/guide/python.md"
BLOCK = re.compile(r"```(\w+)([^\n]*)\n(.*?)```", re.DOTALL)


class Guide(InFolder):
    def test_examples_say_what_the_page_says(self):
        subprocess.run([os.environ["DPMPI"], "generate", "--output", "people.csv", "--records", "5000",
                        "--features", "8"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        blocks = BLOCK.findall(GUIDE.read_text())
        names, run = {}, 0
        for (language, _, code), (after, note, text) in zip(blocks, blocks[1:]):
            if language != "python":
                continue
            with contextlib.redirect_stdout(io.StringIO()) as said:
                exec(compile(code, str(GUIDE), "exec"), names)
            run += 1
            self.assertEqual(after, "text", "an example has its output behind it")
            if not note:
                self.assertEqual(said.getvalue(), text)
            else:
                self.assertIn(text.splitlines()[0], said.getvalue())
        self.assertEqual(run, 6)
