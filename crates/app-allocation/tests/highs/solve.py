"""Solves all LP files of a directory by HiGHS. The file `found` there gets a line for each: its name, and its least cost and the bound, or `impossible`.

Arguments: DIRECTORY GAP; a program's search ends where cost and bound are as near as GAP, relative to the cost."""

import sys
from pathlib import Path

import highspy

directory, found = Path(sys.argv[1]), []
for path in sorted(directory.glob("*.lp")):
    solver = highspy.Highs()
    solver.silent()
    solver.setOptionValue("mip_rel_gap", float(sys.argv[2]))
    solver.setOptionValue("mip_feasibility_tolerance", 1e-9)
    solver.setOptionValue("primal_feasibility_tolerance", 1e-9)
    solver.setOptionValue("threads", 1)
    assert solver.readModel(str(path)) == highspy.HighsStatus.kOk, path
    solver.run()
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        found.append(f"{path.stem} impossible")
        continue
    assert status == highspy.HighsModelStatus.kOptimal, (path, status)
    info = solver.getInfo()
    found.append(f"{path.stem} {info.objective_function_value!r} {info.mip_dual_bound!r}")
(directory / "found").write_text("\n".join(found))
