// Package format defines the meaning of bytes: the size of a record, its key, the order of keys,
// the headers of files, the compression of streams, the verification of sorted output, and the
// generation of test data. It does not sort.
//
// Only the root package of this module is stable: this package may change in any version.
//
// # Records and keys
//
// A file is a sequence of records of the same size. A [Layout] consists of this size and the
// [Field]s of the key: the offset, [Type] and direction of each. This is a record of 12 bytes
// with the key 8:u16be:desc, 0:f64:
//
//	byte    0  1  2  3  4  5  6  7   8  9   10 11
//	       [f64, little-endian     ][u16be][payload]
//	        second field             first, largest first
//
// A [Keyer] converts the key to its normalized form: an unsigned big-endian number of a fixed
// width whose order as bytes is the sort order. All sorting, merging and partitioning works on
// such numbers:
//
//	key     [u16be inverted][f64: big-endian; negative: all bits flipped, else the sign bit]
//
// A Keyer provides the whole key ([Keyer.Append]), its first 64 bits ([Keyer.Prefix]), any 64
// bits of it ([Keyer.BitRange]), and comparisons that do not construct it ([Keyer.Compare]). For
// sorting there are the bulk forms [Keyer.Prefixes] and [Keyer.BitRanges], and [Keyer.Records],
// which converts keys back to records. If [Keyer.Identity] reports true, records are their own
// keys and can be sorted in place.
//
// Floats are sorted in IEEE 754 totalOrder: −NaN < −Inf < … < −0 < +0 < … < +Inf < +NaN.
// Different bit patterns are never equal, so equal keys have equal bytes. There are two
// exceptions. The padding of an [Extended] float is not compared. In fields that are Numeric, −0
// equals +0 and all NaNs are equal, so records cannot be rebuilt from their keys.
//
// # Containers
//
// A [Spec] is a description of records in the form of the command's flags. [Spec.ReadHeader]
// reads everything before the first record and returns a [Header]. It contains the layout and the
// announced number of records, and can write such a header before the output.
//
//	raw      [record][record]…
//	gensort  [10-byte key, 90-byte payload]…
//	npz      a Zip archive of npy files
//	fvecs    [D i32le, D × f32le]…                                     also bvecs, ivecs
//	sosd     [count u64le][key][key]…                                  a count, 8 bytes
//	fbin     [N u32le][D u32le][D × f32le]…                            also u8bin, i8bin, ibin; 8 bytes
//	npy      93 'N' 'U' 'M' 'P' 'Y' [version][length][text][record]…   a dictionary as text, n·64 bytes
//
// The length of an encoded header does not depend on the number of records. So an output of
// unknown length begins with a placeholder, which is overwritten at the end. [CheckSize] computes
// the number of records from the size of a file, and explains a partial last record or a wrong
// count.
//
// # Compression
//
// [Detect] recognizes gzip, zstd, s2, Snappy, lz4 and bzip2 by their first bytes. [Recognition]
// also recognizes files of other formats, which must not be sorted as if they were records.
// [NewReader] and [NewWriter] decompress and compress streams. A [BlockCoder] compresses
// independent blocks, for spill files that are read at random offsets. One of its codecs is a
// [Packer], which stores the differences between neighboring keys of sorted records. All of them
// have bounded memory, which [CodecMemory] and [BlockMemory] estimate, so that it counts towards
// a memory limit.
//
// # Verification
//
// A [Checksum] does not depend on the order of the records, is compatible with valsort, and can
// be added up from parts. [CheckBlock] finds disorder and duplicates in one block, and
// [OrderCheck] joins blocks that arrive in any order, so both can run in parallel with writing.
// [Layout.KeyTexts] shows keys that are out of order as values of their types.
//
// # Test data
//
// A [Generator] generates records of any layout in several distributions. The bytes depend only
// on the seed and the index of a record.
package format
