package dist

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/extsort/extsort/internal/session"
)

// A scheduler contains the names of the environment variables that number its tasks. first contains
// the number of the first task, step the distance between numbers. These two and count may be
// unset.
type scheduler struct{ index, count, first, last, step string }

// schedulers lists the schedulers in order of precedence. An mpirun within a job of an array has
// its own numbers, so it precedes the array. Slurm sets SLURM_PROCID=0 in every batch job, so
// this variable comes last, and it counts only within a step.
var schedulers = []scheduler{
	{index: "OMPI_COMM_WORLD_RANK", count: "OMPI_COMM_WORLD_SIZE"},
	{index: "PMI_RANK", count: "PMI_SIZE"},
	{index: "PMIX_RANK", count: "SLURM_NTASKS"},
	{index: "SLURM_ARRAY_TASK_ID", count: "SLURM_ARRAY_TASK_COUNT", first: "SLURM_ARRAY_TASK_MIN",
		step: "SLURM_ARRAY_TASK_STEP"},
	{index: "AWS_BATCH_JOB_ARRAY_INDEX", count: "AWS_BATCH_JOB_ARRAY_SIZE"},
	{index: "CLOUD_RUN_TASK_INDEX", count: "CLOUD_RUN_TASK_COUNT"},
	{index: "JOB_COMPLETION_INDEX"},
	{
		index: "SGE_TASK_ID",
		first: "SGE_TASK_FIRST",
		last:  "SGE_TASK_LAST",
		step:  "SGE_TASK_STEPSIZE",
	},
	{index: "SLURM_PROCID", count: "SLURM_NTASKS"},
}

var errNoScheduler = errors.New(
	"--part auto: no variable of MPI, Slurm, AWS Batch, Cloud Run, Kubernetes or SGE " +
		"says which task this is: use --part K/N",
)

// Detect returns the share of this task according to the first scheduler whose variable is set.
// getenv returns the variables. If a scheduler does not report the number of its tasks, tasks is
// assumed.
func Detect(tasks int, getenv func(string) string) (session.Part, error) {
	for _, s := range schedulers {
		index := getenv(s.index)
		_, outsideStep := strconv.Atoi(getenv("SLURM_STEP_ID"))
		switch {
		case index == "", s.index == "SGE_TASK_ID" && index == "undefined":
		case s.index == "SLURM_PROCID" && outsideStep != nil:
		default:
			return s.share(tasks, getenv)
		}
	}
	return session.Part{}, errNoScheduler
}

// share returns the share according to the variables of s.
func (s scheduler) share(
	tasks int, getenv func(string) string,
) (session.Part, error) {
	var bad error
	value := func(name string, missing int64) int64 {
		text := getenv(name)
		if name == "" || text == "" {
			return missing
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil && bad == nil {
			bad = fmt.Errorf(
				"--part auto: %s=%s is not a number: use --part K/N",
				name,
				text,
			)
		}
		return n
	}
	first := value(s.first, 0)
	share := session.Part{
		K: value(s.index, 0) - first,
		N: value(s.count, int64(tasks)),
	}
	if s.last != "" {
		share.N = value(s.last, first+int64(tasks)-1) - first + 1
	}
	step := value(s.step, 1)
	switch {
	case bad != nil:
		return session.Part{}, bad
	case step != 1 || share.K >= share.N || share.K < 0:
		return session.Part{}, fmt.Errorf(
			"--part auto: %s=%s is not one of %d tasks numbered without gaps from %d, "+
				"perhaps because only some tasks of an array were submitted: use --part K/N",
			s.index,
			getenv(s.index),
			share.N,
			first,
		)
	}
	return share, nil
}
