// Package lookup finds records by their keys in files that package extsort has sorted.
//
//	table, err := lookup.Open(ctx, lookup.Source{
//		Path:   "sorted.bin",
//		Record: extsort.Record{Size: 16, Keys: []extsort.KeyField{{Offset: 8, Type: extsort.U32}}},
//	})
//	…
//	key, err := table.Key(12345)
//	found, err := table.Find(key)
//	for record, err := range table.Records(ctx, found) {
//		…
//	}
//
// A [Table] is safe for concurrent use. It does not read the file into memory: a look-up reads
// about four pieces of 4 to 64 KiB if the keys are uniform. For other keys, it reads at most a few
// pieces more than a binary search. With an index, it reads one piece. [WriteIndex] and the command
// extsort index make indexes.
//
//   - [Table.Find] finds the records with a key. The key may consist of the first fields only.
//   - [Table.Between] finds the records of a range of keys.
//   - [Table.FindAll] finds many keys. It is fastest if they are in ascending order.
//
// # Sources
//
// A source is a file, an object (see package remote/s3), or an io.ReaderAt. It must be sorted
// exactly as [Source] describes. A look-up notices disorder only in the records that it reads, and
// then returns a *[DisorderError]. WriteIndex reads and checks all records. Pipes and compressed
// files cannot be sources.
//
// # Stability
//
// Only the root package of this module is stable: this package may change in any version.
package lookup
