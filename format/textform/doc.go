// Package textform converts records to lines of text and back. Encoder and Decoder are inverses: a
// Decoder turns the lines of an Encoder back into the same bytes, for all types.
//
// Only the root package of this module is stable: this package may change in any version.
//
// A value of a type is converted by a codec. Its text is the usual notation of the type, with as
// few digits as identify the value. Some bytes have no such notation, for example invalid digits of
// a decimal number, or nonzero padding. They are written as 0x and the bytes of the value in
// hexadecimal, in the order in which they are stored:
//
//	integers        123  -7                  also 0x7b as a number when they are read
//	floats          0.1  -0  Inf  NaN  -NaN  NaN(0x7fc00001): the bits of another NaN
//	times           2026-11-27T12:45:00.250Z  NaT
//	decimals        +123  -123  123: sign codes C, D and F
//	bytes, EBCDIC,  the text without the padding at its end, if all characters can be printed and
//	characters      it does not begin with 0x
package textform
