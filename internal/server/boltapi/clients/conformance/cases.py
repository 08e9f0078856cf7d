"""Runs openCypher's conformance cases over Bolt: cases.py DIR, which holds cases.jsonl and its runner run.py."""
import json
import os
import pathlib
import re
import sys
import types

folder = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(folder))
import run  # noqa: E402

settings = types.SimpleNamespace(bolt="bolt://" + os.environ["BOLT"], url="http://" + os.environ["HTTP"], auth=None, timeout=60,
                                 procedures="/v1/test/procedures")


class Server(run.BoltServer):
    args, defined = settings, None
    define = run.HttpServer.define  # A case's procedures are defined over HTTP.

    def decode(self, v):
        """As the runner, but with the offset from the driver's value: the driver's text is wrong for negative parts of an hour."""
        t = self.neo4j.time
        if not isinstance(v, (t.Time, t.DateTime)) or v.utcoffset() is None:
            return super().decode(v)
        zone, delta = getattr(v.tzinfo, "zone", None), v.utcoffset()
        seconds = int(delta.total_seconds()) if hasattr(delta, "total_seconds") else delta.seconds
        text = run.temporal_text(re.sub(r"([+-]\d\d:\d\d(:\d\d)?|Z)$", "", v.iso_format()))
        return text + offset(seconds) + (f"[{zone}]" if zone and zone != "UTC" else "")


def offset(seconds):
    if seconds == 0:
        return "Z"
    rest = abs(seconds)
    return f"{'-' if seconds < 0 else '+'}{rest // 3600:02}:{rest // 60 % 60:02}" + (f":{rest % 60:02}" if rest % 60 else "")


server = Server(settings)
with (folder / "cases.jsonl").open(encoding="utf-8") as lines, open(os.environ["RESULTS"], "w", encoding="utf-8") as results:
    for case in map(json.loads, lines):
        if "@ignore" in case["tags"]:
            continue
        report = run.judge(server, case)
        # Bolt has no field for the phase and the detail of an error: its type has been compared by then.
        passed = report["passed"] or report["reason"] == "error of the right type"
        if not passed:
            print(f"{report['id']}: {report['reason']}: {report['message'][:300]}")
        results.write(f"{'pass' if passed else 'fail'} {report['id']}\n")
server.driver.close()
