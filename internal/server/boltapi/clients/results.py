"""A plugin for pytest that writes the outcome of each test into $RESULTS."""
import os

outcomes = {}


def pytest_runtest_logreport(report):
    if report.failed:
        outcomes[report.nodeid] = "fail"
    elif report.when == "call" and report.passed:
        outcomes.setdefault(report.nodeid, "pass")


def pytest_sessionfinish():
    with open(os.environ["RESULTS"], "w", encoding="utf-8") as f:
        f.writelines(f"{outcome} {name}\n" for name, outcome in outcomes.items())
