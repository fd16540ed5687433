"""`npm run fuzz:document`: Schemathesis sends the built service requests made from its document.

All options are Schemathesis's own, such as `--max-examples 50000` or `--seed 1`. The store is DATABASE_URL, which must
be empty, or a new SQLite file. Schemathesis itself is installed into drill/.work, and loads this file for before_call().
"""

import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import venv

VERSION = "4.32.5"
HERE = pathlib.Path(__file__).resolve()
ROOT = HERE.parents[2]
PROGRAMS = ROOT / "drill" / ".work" / f"schemathesis-{VERSION}" / "bin"
# All checks. Texts have no U+0000 and no unpaired surrogates: the service refuses these, although the schema allows
# them (docs/api.md). A response comes within DATABASE_TIMEOUT and the delay of a busy machine.
OPTIONS = """--checks all --mode all --continue-on-failure --max-response-time 5.5 --generation-allow-x00 false
  --generation-codec utf-8 --generation-database none --no-color --max-examples 12500"""


def main():
    if not PROGRAMS.exists():
        venv.create(PROGRAMS.parent, clear=True, with_pip=True)
        subprocess.run([PROGRAMS / "pip", "install", "--quiet", f"schemathesis=={VERSION}"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        url = os.environ.get("DATABASE_URL", f"sqlite:{folder}/store.sqlite")
        env = {"PATH": os.environ["PATH"], "DATABASE_URL": url, "LOG_LEVEL": "error"}
        env |= {"PORT": "0", "MANAGEMENT_PORT": "off"}
        command = ROOT / "bin" / "plant-store"
        with subprocess.Popen([command, "serve"], cwd=folder, env=env, stdout=subprocess.PIPE, text=True) as service:
            # The first start prints a token, and a request with it.
            request = re.compile(r"curl (\S+)/plants .*Bearer (\w+)")
            address, token = next(filter(None, map(request.search, service.stdout))).groups()
            code = run_schemathesis(address, token, folder)
            service.terminate()
    sys.exit(code or service.returncode)


def run_schemathesis(address, token, folder):
    command = [PROGRAMS / "schemathesis", "run", f"{address}/openapi.json", *OPTIONS.split()]
    command += ["--header", f"Authorization: Bearer {token}", *sys.argv[1:]]
    hooks = {"PYTHONPATH": HERE.parent, "SCHEMATHESIS_HOOKS": HERE.stem, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=folder, env={**os.environ, **hooks}).returncode


contents = {}
# Not the module's own numbers, which Hypothesis restarts for each case.
numbers = random.Random(0)


def before_call(context, case, kwargs):
    """Keeps ids unique: Schemathesis expects every body that fits the schema to be accepted, and sends some ids again with
    other content, which is refused (400, error 1004)."""
    body = case.body
    if not isinstance(body, dict) or not is_int64(body.get("id")):
        return
    content = json.dumps({**body, "id": None}, sort_keys=True)
    if contents.setdefault(body["id"], content) != content:
        body["id"] = numbers.getrandbits(64) - 2**63
        contents[body["id"]] = content


def is_int64(value):
    """Whether it is an id. Another value stays as it is, since it must be refused."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and value % 1 == 0 and -(2**63) <= value < 2**63


if __name__ == "__main__":
    main()
else:
    import schemathesis

    schemathesis.hook(before_call)
