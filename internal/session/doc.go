// Package session carries out one call of the library: a sort, a merge, a check, or a plan for a
// sort. It is internal. The root package of this module is the API that programs import.
//
// # The sequence of a run
//
// A sort goes through these steps. Each step has a file of its own.
//
//	options.go, validate.go   check the options, all at once, and fill in the defaults
//	inputs.go, unpack.go      open the inputs; decompress them first if memory is too small
//	checkpoint.go             open the checkpoint and compare it with this sort
//	facts.go                  sample the keys; examine the output, temporary directories and disks
//	devices.go                open the named devices, or devices that speed up the sort
//	                          ── chunker/plan chooses a plan from these facts
//	sort.go                   open the output and run the plan ── internal/engine does the work
//	                          if a GPU fails, sort again on the CPU
//	session.go                close everything
//	report.go                 report what happened
//
// A merge (merge.go) and a check (check.go) skip the checkpoint and the devices, because they move
// records but do not sort them. A plan (plan.go) stops before the output is opened, and reads
// nothing from pipes.
//
// # Concepts
//
// A session owns everything that a call opens: inputs, devices, the checkpoint, and the temporary
// files of decompressed inputs. The engine owns the output, which appears under its name only if
// the run succeeds. A function that fails closes everything it opened before it returns.
//
// Tests make operations fail through the seams in Options.faults; see faults_test.go.
package session
