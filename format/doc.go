// Package format says what bytes mean: what a record is, which of its bytes are the key and how keys are
// ordered, what stands around the records in a file, how streams are compressed, how sorted output is
// verified and how test data is made. It knows nothing of sorting.
//
// # Records and keys
//
// A file is a sequence of records of one size. A [Layout] gives that size and the [Field]s of the key: where
// each stands, its [Type] and its direction. This is a record of 12 bytes with the key 8:u16be:desc, 0:f64:
//
//	byte    0  1  2  3  4  5  6  7   8  9   10 11
//	       [f64, little-endian     ][u16be][payload]
//	        second field             first, largest first
//
// A [Keyer] turns the key into its normalized form, an unsigned big-endian number of a fixed width whose order
// as bytes is the wanted order, so that whatever sorts, merges or partitions sees only such numbers:
//
//	key     [u16be inverted][f64: big-endian; negative: all bits flipped, else the sign bit]
//
// A Keyer offers it whole ([Keyer.Append]), as its first 64 bits ([Keyer.Prefix]), as any 64 bits
// ([Keyer.Window]), and as a comparison without making it ([Keyer.Compare]); in bulk, which is what sorting
// uses, as [Keyer.Prefixes] and [Keyer.Windows], and back from key to record as [Keyer.Records]. Where
// [Keyer.Identity] holds the records are their own keys, and their memory may be sorted as it is.
//
// Floats are in IEEE 754 totalOrder: −NaN < −Inf < … < −0 < +0 < … < +Inf < +NaN. No two bit patterns are
// equal, so equal keys are equal bytes. Exceptions are the padding of an [Extended] float, which is not compared, and
// fields that are Numeric: there −0 equals +0 and all NaNs are equal, so records cannot be rebuilt from their keys.
//
// # Containers
//
// A [Spec] is a record description as the flags of the command give it. [Spec.ReadHeader] consumes what stands
// before the first record and yields a [Header]: the layout, how many records are announced, and how to write
// such a header before the output.
//
//	raw      [record][record]…
//	gensort  [10-byte key, 90-byte payload]…
//	npz      a Zip archive of npy files
//	fvecs    [D i32le, D × f32le]…                                     also bvecs, ivecs
//	sosd     [count u64le][key][key]…                                  a count, 8 bytes
//	fbin     [N u32le][D u32le][D × f32le]…                            also u8bin, i8bin, ibin; 8 bytes
//	npy      93 'N' 'U' 'M' 'P' 'Y' [version][length][text][record]…   a dictionary as text, n·64 bytes
//
// The length of an encoded header does not depend on the number of records: an output of unknown length starts
// with a placeholder that is overwritten in the end. [CheckSize] tells how many records a file of so many bytes
// has, and explains a partial last record or a count that is not true.
//
// # Compression
//
// [Detect] recognises gzip, zstd, s2, Snappy, lz4 and bzip2 by their first bytes, and a [Recognition] files of other
// formats, which are not to be sorted as if they were records; [NewReader] and [NewWriter] turn streams
// inside out. A [BlockCoder] works on single blocks for spill that is read at random; a [Packer], which is one
// of its ways, keeps of sorted records the differences between neighbouring keys. Memory is bounded throughout, and
// [CodecMemory] and [BlockMemory] estimate it, so that a memory limit can count it in.
//
// # Verification
//
// A [Checksum] is the same for the same records in any order, is that of valsort, and adds up from parts to the whole.
// [CheckBlock] finds disorder and duplicates in one block and [OrderCheck] joins blocks that come in any order, so both
// run in parallel with writing; [Layout.KeyTexts] shows the keys that are out of order in their types.
//
// # Test data
//
// A [Generator] makes records of any layout in several distributions; the bytes depend on the seed and the
// record's index alone.
package format
