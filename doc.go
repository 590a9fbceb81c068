// Package extsort sorts files of fixed-size binary records. The files may be far larger than
// memory. A sort stays within a memory limit and uses a GPU if there is one.
//
//	report, err := extsort.Sort(ctx, extsort.Job{
//		Input:  extsort.Input{Paths: []string{"log.bin"}},
//		Record: extsort.Record{Size: 16, Keys: []extsort.KeyField{{Offset: 8, Type: extsort.U32}}},
//		Output: extsort.Output{Path: "sorted.bin"},
//	})
//
// The result is exact and stable: records with equal keys keep their input order, and every device
// and strategy produces the same bytes. The output appears under its path only when it is complete.
// Temporary files do not outlive the process, unless Job.Checkpoint is set. With a checkpoint, the
// same sort can resume after a crash.
//
// # Where to start
//
//   - [Sort] sorts files, readers and object stores into a file, a writer or a [Sink]. [Job]
//     describes the sort.
//   - [SortSlice] sorts a slice of numbers or structs in memory, and [SortBytes] a slice of bytes.
//   - [Records] iterates over the sorted records instead of writing them.
//   - [Merge] merges inputs that are already sorted. [Cuts] divides a merge among several
//     processes.
//   - Package sets unites, intersects, subtracts, compares and joins sorted inputs by their keys.
//   - [Check] reports whether an input is in order.
//   - [Plan] predicts how a sort will run. [PlanFor] does so for an input that does not exist yet.
//   - [Devices] lists the devices that can sort.
//   - Package lookup finds records by their keys in sorted files.
//
// The zero value of every field is its default, except that a job needs an input, a record and an
// output. The package never uses the standard streams of the process by itself: pass os.Stdin as
// Input.Reader or os.Stdout as Output.Writer. It never logs unless Job.Logger is set.
//
// # Options and errors
//
// Each function checks all fields before it opens a file, and reports all invalid fields at once.
// Errors are data: use errors.As or errors.AsType with *[OptionError], *[ResourceError],
// *[PartialRecordError], *[FileError], *[DisorderError] or *[PanicError]. An error about a file
// contains a *[fs.PathError] with the path and the operation. All errors wrap their cause, so
// errors.Is finds [fs.ErrNotExist], [syscall.ENOSPC] or an error of your own Reader, Writer or
// Sink. If one of your functions panics, the error names it.
//
// Each function returns soon after its context is cancelled, in every phase. The error is then the
// cause of the cancellation, and no output appears.
//
// # Object stores and brotli
//
// A path may be a URL if the program imports a driver for it:
//
//	import _ "github.com/extsort/extsort/remote/s3" // s3://, gs://, https:// and http://
//
// Likewise, programs that read or write brotli import github.com/extsort/extsort/format/brotli.
// Without these imports, a program links neither an object store client nor brotli.
//
// # Stability
//
// Only this package is stable. All other packages of the module may change in any version.
// docs/library.md has a guide, and docs/how-it-works.md explains the strategies.
package extsort
