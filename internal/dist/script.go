package dist

import (
	"embed"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

//go:embed scripts
var scripts embed.FS

// Schedulers are those that scripts are there for.
var Schedulers = []string{"slurm", "kubernetes", "local"}

// maxArray is how many tasks an array of Slurm has at most, unless its configuration says otherwise.
const maxArray = 1000

// Script is the text of a script that has a scheduler do the tasks: to be read and changed, and then run. So many tasks
// of each kind share the runs and the parts; 0: one for each, up to maxArray. flags are those of run and merge.
func (p *Plan) Script(scheduler string, tasks int, flags []string) (string, error) {
	i := slices.Index(Schedulers, scheduler)
	if i < 0 {
		return "", fmt.Errorf("dist script %q: use %s", scheduler, strings.Join(Schedulers, ", "))
	}
	text, err := scripts.ReadFile("scripts/" + []string{"slurm.sh", "kubernetes.yaml", "local.sh"}[i])
	if err != nil {
		return "", err
	}
	folder, err := filepath.Abs(p.folder)
	if err != nil {
		return "", err
	}
	if tasks == 0 {
		tasks = maxArray
	}
	runTasks, cutTasks, mergeTasks := min(tasks, p.Runs), min(tasks, CutTasks(p)), min(tasks, p.Parts)
	quoted := ""
	for _, flag := range flags {
		quoted += strconv.Quote(flag) + ", "
	}
	return strings.NewReplacer(
		"@FOLDER@", shellQuoted(folder), "@YAMLFOLDER@", strconv.Quote(folder),
		"@FLAGS@", shellQuoted(strings.Join(flags, " ")), "@YAMLFLAGS@", quoted,
		"@RUNTASKS@", strconv.Itoa(runTasks), "@LASTRUN@", strconv.Itoa(runTasks-1),
		"@CUTTASKS@", strconv.Itoa(cutTasks), "@LASTCUT@", strconv.Itoa(cutTasks-1),
		"@MERGETASKS@", strconv.Itoa(mergeTasks), "@LASTMERGE@", strconv.Itoa(mergeTasks-1),
		"@CPUS@", strconv.Itoa(runtime.NumCPU()),
	).Replace(string(text)), nil
}

// shellQuoted is a word of a shell that stands for s.
func shellQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
