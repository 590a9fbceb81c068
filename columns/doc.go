// Package columns sorts Parquet and Arrow files within a memory limit. It converts rows to records
// of fixed size, sorts these with package extsort, and converts them back:
//
//	files ─▶ source ───────────▶ extsort.Sort ─▶ sink ──────────────▶ target
//	         decodes row groups                  encodes row groups   a file that appears
//	         in parallel, in order               column by column     completely or not at all
//
// A row becomes one record, or several records if it has columns of variable width; see pieces.go.
// The layout is made from the schema:
//
//	┌──────────────────────────┬─────────────────────────┬────────────────────────────────┐
//	│ order bytes: 1 for each  │ values of fixed width,  │ levels: 1 bit for each column  │
//	│ key that can be null     │ zeros for nulls         │ that can be null               │
//	└──────────────────────────┴─────────────────────────┴────────────────────────────────┘
//
// Integers and levels can be smaller than that; see narrow.go.
//
// An order byte is 1 for a value. It is 0 or 2 for a null, so that nulls sort first or last. A
// column below optional groups has a byte for its definition level instead of a bit.
//
// This package uses only the public API of package extsort.
//
// Only the root package of this module is stable: this package may change in any version.
package columns
