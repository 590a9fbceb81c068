// Package kubernetes tests the YAML that extsort dist script prints, with the types of
// Kubernetes. It is a module of its own, so that other modules do not depend on Kubernetes.
package kubernetes

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// TestScript decodes the Jobs and then runs the commands of their containers, for each index.
func TestScript(t *testing.T) {
	folder := filepath.Join(t.TempDir(), `it's "a" folder`)
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	command := filepath.Join(folder, "extsort")
	build := exec.Command("go", "build", "-o", command, "./cmd/extsort")
	build.Dir = filepath.Join("..", "..", "..")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	run := func(args ...string) []byte {
		t.Helper()
		cmd := exec.Command(command, args...)
		cmd.Dir = folder
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%q: %v: %s", args, err, said.String())
		}
		return out
	}
	run("gen", "-R", "16", "-k", "0:u64", "-n", "20000", "--dist", "zipf", "-o", "in")
	run("-R", "16", "-k", "0:u64", "-o", "want", "in")
	run("dist", "plan", "-R", "16", "-k", "0:u64", "--runs", "5", "--parts", "3", "--into", "out", "plan", "in")

	var done []string
	for _, job := range decoded(t, run("dist", "script", "kubernetes", "-S", "64M", "--tasks", "4", "plan")) {
		check(t, job)
		completions := 1
		if job.Spec.Completions != nil {
			completions = int(*job.Spec.Completions)
		}
		done = append(done, job.Name+" "+strconv.Itoa(completions))
		for k := range completions {
			var args []string
			for _, arg := range job.Spec.Template.Spec.Containers[0].Args {
				args = append(args, strings.ReplaceAll(arg, "$(K)", strconv.Itoa(k)))
			}
			run(args...)
		}
	}
	want := []string{"extsort-run 4", "extsort-cut 1", "extsort-merge 3", "extsort-verify 1"}
	if !slices.Equal(done, want) {
		t.Errorf("%q were run, and not %q", done, want)
	}
	if !bytes.Equal(read(t, folder, "out"), read(t, folder, "want")) {
		t.Error("the output is not that of one machine")
	}
}

func read(t *testing.T, folder, name string) []byte {
	data, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// decoded returns the Jobs of a text. It rejects unknown and duplicate fields.
func decoded(t *testing.T, text []byte) (jobs []batch.Job) {
	for _, document := range bytes.Split(text, []byte("\n---\n"))[1:] {
		var job batch.Job
		if err := yaml.UnmarshalStrict(document, &job); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		wrong := bytes.Replace(document, []byte("backoffLimit"), []byte("backofLimit"), 1)
		if err := yaml.UnmarshalStrict(wrong, &batch.Job{}); err == nil {
			t.Fatalf("a wrong name is not seen:\n%s", wrong)
		}
		jobs = append(jobs, job)
	}
	return jobs
}

// check checks the Kubernetes rules that the types don't express, and the requirements of the
// tasks.
func check(t *testing.T, job batch.Job) {
	spec, pod := job.Spec, job.Spec.Template.Spec
	indexed := spec.CompletionMode != nil && *spec.CompletionMode == batch.IndexedCompletion
	if job.APIVersion != "batch/v1" || job.Kind != "Job" || job.Labels["step"] == "" || len(pod.Containers) != 1 {
		t.Fatalf("%+v", job)
	}
	if pod.RestartPolicy != core.RestartPolicyNever || spec.PodFailurePolicy == nil {
		t.Errorf("%s: a policy for failures wants pods that are never restarted", job.Name)
	}
	if indexed != (spec.BackoffLimitPerIndex != nil) || indexed != (spec.Completions != nil) {
		t.Errorf("%s: limits by index and completions are for indexed Jobs", job.Name)
	}
	for _, rule := range spec.PodFailurePolicy.Rules {
		switch on := rule.OnExitCodes; {
		case on != nil && (rule.Action != batch.PodFailurePolicyActionFailJob || !slices.Equal(on.Values, []int32{2}) ||
			on.Operator != batch.PodFailurePolicyOnExitCodesOpIn || *on.ContainerName != pod.Containers[0].Name):
			t.Errorf("%s: %+v", job.Name, rule)
		case on == nil && (len(rule.OnPodConditions) != 1 || rule.OnPodConditions[0].Type != core.DisruptionTarget):
			t.Errorf("%s: %+v", job.Name, rule)
		}
	}
	container := pod.Containers[0]
	if indexed && (container.Env[0].Name != "K" || container.Env[0].ValueFrom.FieldRef.FieldPath !=
		"metadata.annotations['"+batch.JobCompletionIndexAnnotation+"']") {
		t.Errorf("%s: %+v", job.Name, container.Env)
	}
	if container.VolumeMounts[0].Name != pod.Volumes[0].Name || pod.Volumes[0].PersistentVolumeClaim == nil {
		t.Errorf("%s: %+v, %+v", job.Name, container.VolumeMounts, pod.Volumes)
	}
	if asked, most := container.Resources.Requests.Memory(), container.Resources.Limits.Memory(); asked.Cmp(
		*most,
	) > 0 ||
		asked.Value() != 40<<30 {
		t.Errorf("%s: %v of memory asked for, at most %v", job.Name, asked, most)
	}
}
