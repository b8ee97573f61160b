#!/bin/sh
# What continuous integration does: the spec is checked, the server is tested, and reports are left behind.
# Both recipes call this, and so can you. The exit code is that of the first step that fails.
set -u
rm -rf palaver-run
palaver check --strict adder.fan || exit
palaver talk --run palaver-run --markdown "${GITHUB_STEP_SUMMARY:-summary.md}" --github -
tested=$?
pytest --quiet
code=$?
[ "$tested" -eq 0 ] || exit "$tested"
exit "$code"
