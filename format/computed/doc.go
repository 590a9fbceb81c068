// Package computed computes keys that are functions of fields, such as hilbert(lon,lat).
//
// Only the root package of this module is stable: this package may change in any version.
//
// A list of keys can contain fields and functions of fields. [Parse] parses the list, and
// [Keys.Fields] returns the fields that the functions need. A container finds these fields like
// any other keys: by name, column or offset. [Keys.Bind] then combines the functions with the
// layout that the container returned. The result is a [Program], which puts the computed keys
// after each record:
//
//	record │ key of the first function: u64 or u128, little-endian │ key of the second function …
//
// So a sort knows only fields, and no other package has to compute keys.
//
// # Curves
//
// hilbert and morton are positions on a space-filling curve: points that are close to each other
// in space mostly have keys that are close to each other. Each field is one dimension. Its values
// are mapped linearly from a range to the cells of a grid, which has 2^16 or 2^32 cells for each
// dimension. The range is given, or consists of the least and the greatest value in the data,
// which [Program.Observe] finds. Values outside the range belong to the cells at its ends. A
// record with a NaN has the greatest key.
package computed
