package format

import (
	"slices"

	"github.com/extsort/extsort/internal/option"
)

// gensort is a file of records of the sort benchmark: http://www.ordinal.com/gensort.html
var gensort = container{
	Container: Container{
		Name:    "gensort",
		About:   "100-byte records",
		IsPlain: true,
	},
	check: func(s Spec) []error {
		return slices.Concat(
			exclusion(
				s.Type != "",
				option.Format,
				" gensort excludes %v: its key is bytes 0 to 9",
				option.Type,
			),
			exclusion(
				len(s.Keys) > 0, option.Format,
				" gensort excludes %v: its key is bytes 0 to 9; for another "+
					"key use %v 100 %v OFFSET:TYPE",
				option.Keys, option.RecordSize, option.Keys,
			))
	},
	create: func(Spec) (*Header, error) {
		return &Header{
			layout:  gensortLayout,
			records: -1,
		}, nil
	},
}

var gensortLayout = Layout{
	RecordSize: 100,
	Key:        []Field{{Type: Type{Kind: Bytes, Size: 10}}},
}
