// Package output writes what a sort or a merge makes, so that it is whole or not there.
//
// An Output is a file that appears under its name when it is complete and durable; until Commit whatever stood
// there is untouched, and after Abort, an error or a crash nothing else is left. NewSink and CreateFile make a
// BlockWriter of it that takes blocks in any order; what is not a regular file is written as a stream, in order,
// by a StreamSink. Offset, Head, Tail, Unique and Observe are BlockWriters that do something on the way to the next.
package output
