"""ReFrame: each host of a partition has an optimal BLAS, and its rate is kept.

    reframe -c scripts/fleet/reframe_check.py --distribute=all -r

--distribute makes a job a node of it. A reference, {"cluster:partition": {"gflops": (60, -0.1, None,
"GFLOP/s")}}, makes a host that is 10 % slower fail, too.
"""

import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class BlasCheck(rfm.RunOnlyRegressionTest):
    descr = "the BLAS that programs get is optimal"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "hwprof"
    executable_opts = ["check"]
    num_tasks = 1
    num_tasks_per_node = 1
    exclusive_access = True
    time_limit = "2m"
    tags = {"maintenance"}

    @sanity_function
    def optimal(self):
        return sn.assert_found(r"^verdict=optimal ", self.stdout)

    @performance_function("GFLOP/s")
    def gflops(self):
        return sn.extractsingle(r" gflops=(\S+)", self.stdout, 1, float)
