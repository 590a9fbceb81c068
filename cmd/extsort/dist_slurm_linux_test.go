package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// slurmEnv names the variable with the number of nodes and MiB for the sorts on Slurm, such as
// 4x2048. .ci/long sets it.
const slurmEnv = "EXTSORT_TEST_SLURM"

// newSlurm starts a cluster if Slurm is installed. The GPUs of its nodes are only counted.
func newSlurm(t *testing.T, nodes, gpus int) {
	t.Helper()
	for _, command := range []string{"slurmctld", "slurmd", "munged"} {
		if _, err := exec.LookPath(command); err != nil || os.Getuid() != 0 {
			t.Skip("needs root, Debian's slurm-wlm and munge:", err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	listener.Close()
	// Munge needs short names and directories that others cannot write to.
	parent, err := os.MkdirTemp("", "slurm")
	if err == nil {
		err = os.Chmod(parent, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(parent, "c")
	t.Cleanup(func() {
		slurmScript("down", folder)
		os.Unsetenv("SLURM_CONF")
		os.RemoveAll(parent)
	})
	if said, err := slurmScript("up", folder, strconv.Itoa(nodes), port, strconv.Itoa(gpus)); err != nil {
		t.Skipf("no Slurm here: %v: %s", err, said)
	}
	os.Setenv("SLURM_CONF", filepath.Join(folder, "slurm.conf")) // no other test uses this variable
}

func slurmScript(verb, folder string, args ...string) (said string, err error) {
	cmd := exec.Command("../../.ci/slurm", append([]string{verb, folder}, args...)...)
	// The output goes to a file, because daemons would keep a pipe open.
	file, err := os.Create(filepath.Join(filepath.Dir(folder), verb))
	if err != nil {
		return "", err
	}
	defer file.Close()
	cmd.Stdout, cmd.Stderr = file, file
	err = cmd.Run()
	text, _ := os.ReadFile(file.Name())
	return string(text), err
}

// command runs a command in the plan's directory and returns its output.
func (d *distCase) command(name string, args ...string) string {
	d.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = d.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// submitted runs a script of dist that submits its jobs, and returns the number of the last job.
func (d *distCase) submitted(tasks int) string {
	script := string(
		mustRun(d.t, d.dir, "dist", "script", "slurm", "-S", "64M", "--tasks", strconv.Itoa(tasks), "plan"),
	)
	if err := os.WriteFile(filepath.Join(d.dir, "sort.sh"), []byte(script), 0o755); err != nil {
		d.t.Fatal(err)
	}
	return d.command("bash", "sort.sh")
}

// wait waits until a job has ended.
func (d *distCase) wait(job string) {
	d.t.Helper()
	for range 6000 {
		state := d.command("scontrol", "show", "job", job)
		switch {
		case strings.Contains(state, "JobState=COMPLETED"):
			os.RemoveAll(filepath.Join(d.dir, "plan", "log"))
			os.Remove(filepath.Join(d.dir, "sort.sh"))
			return
		case !strings.Contains(state, "JobState=PENDING") && !strings.Contains(state, "JobState=RUNNING") &&
			!strings.Contains(state, "JobState=COMPLETING"):
			d.t.Fatalf("%s\n%s", state, d.command("sh", "-c", "tail -n 5 *.json plan/log/*; true"))
		}
		time.Sleep(100 * time.Millisecond)
	}
	d.t.Fatal("the job does not end")
}

// TestDistOnSlurm sorts with the printed script on a cluster that loses tasks and a node.
func TestDistOnSlurm(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	t.Parallel()
	nodes, mebibytes := 2, 64
	if _, err := fmt.Sscanf(os.Getenv(slurmEnv), "%dx%d", &nodes, &mebibytes); os.Getenv(slurmEnv) != "" && err != nil {
		t.Fatal(err)
	}
	newSlurm(t, nodes, 0)
	size := strconv.Itoa(mebibytes) + "M"
	t.Run("undisturbed", func(t *testing.T) {
		for _, layout := range [][]string{pairLayout, gensortLayout} {
			d := planned(t, layout, size, "--into", "out")
			d.wait(d.submitted(8))
			d.check("out")
		}
	})
	// The tasks are interrupted at any point and start over.
	t.Run("two tasks requeued", func(t *testing.T) {
		d := planned(t, pairLayout, size, "-o", "out")
		last := d.submitted(4)
		runs := d.command("squeue", "--noheader", "--format=%F", "--name=extsort-run")
		array, _, _ := strings.Cut(runs, "\n")
		d.until("squeue --noheader --states=RUNNING --name=extsort-run | grep -q .")
		for _, index := range []string{"1", "3"} {
			exec.Command("scontrol", "requeue", array+"_"+index).Run() // the task may have ended
		}
		d.wait(last)
		d.check("out")
	})
	t.Run("mpirun in a job", func(t *testing.T) {
		if _, err := exec.LookPath("mpirun"); err != nil {
			t.Skip("needs Open MPI")
		}
		d := planned(t, pairLayout, size, "-o", "out")
		launch := "mpirun --allow-run-as-root --oversubscribe --bind-to none --mca plm isolated --mca ras ^slurm -np 2 "
		job := d.command("sbatch", "--parsable", "--output=log.json", "--wrap",
			launch+"extsort dist run --part auto -S 64M plan && extsort dist cut plan && "+
				launch+"extsort dist merge --part auto -S 64M plan && extsort dist verify plan")
		d.wait(job)
		if log := string(readFile(t, d.dir, "log.json")); strings.Contains(log, "is already done") {
			t.Errorf("two ranks did the same: %s", log)
		}
		d.check("out")
	})
	t.Run("a node lost", func(t *testing.T) {
		d := planned(t, pairLayout, size, "--into", "out")
		last := d.submitted(8)
		d.until("squeue --noheader --states=RUNNING --name=extsort-merge,extsort-run --nodelist=n1 | grep -q .")
		d.command("scontrol", "update", "nodename=n1", "state=down", "reason=test")
		d.wait(last)
		d.check("out")
	})
}

// until waits until a command succeeds.
func (d *distCase) until(command string) {
	d.t.Helper()
	for range 300 {
		if exec.Command("sh", "-c", command).Run() == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	d.t.Logf("%s: did not come about", command)
}
