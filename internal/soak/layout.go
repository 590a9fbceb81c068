package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// layout describes a record to the command and to the oracle.
type layout struct {
	flags     []string
	container *container // nil: plain records
	dtype     string     // for npy, in NumPy's notation
	dimension int        // for bigann
	oracle
}

var numbers = []field{
	{
		kind: 'u',
		size: 1,
	}, {
		kind: 'u',
		size: 2,
	}, {
		kind: 'u',
		size: 4,
	}, {
		kind: 'u',
		size: 8,
	}, {
		kind: 'u',
		size: 16,
	},
	{
		kind: 'i',
		size: 1,
	}, {
		kind: 'i',
		size: 2,
	}, {
		kind: 'i',
		size: 4,
	}, {
		kind: 'i',
		size: 8,
	}, {
		kind: 'i',
		size: 16,
	},
	{kind: 'u', size: 3}, {kind: 'u', size: 5}, {kind: 'u', size: 6},
	{kind: 'i', size: 3}, {kind: 'i', size: 5}, {kind: 'i', size: 6},
	{
		kind: 'f',
		size: 4,
	}, {
		kind: 'f',
		size: 8,
	}, {
		kind: 'x',
		size: 10,
	}, {
		kind: 'x',
		size: 12,
	}, {
		kind: 'x',
		size: 16,
	},
}

// randomLayout returns a random description of a record. In one of four, floats are ordered
// numerically.
func randomLayout(r *rand.Rand) layout {
	l := describedLayout(r)
	if slices.ContainsFunc(l.fields, field.isFloat) && r.IntN(4) == 0 {
		l.flags = append(l.flags, "--float", "numeric")
		for i := range l.fields {
			l.fields[i].numeric = l.fields[i].isFloat()
		}
	}
	return l
}

func describedLayout(r *rand.Rand) layout {
	switch n := r.IntN(100); {
	case n < 30:
		return bareLayout(r)
	case n < 65:
		return keyedLayout(r)
	case n < 70:
		size := skewed(r, 1, 64)
		return layout{
			flags:  []string{"-R", fmt.Sprint(size)},
			oracle: oracle{size, []field{{kind: 'b', size: size}}},
		}
	case n < 78:
		return layout{
			flags:  []string{"-f", "gensort"},
			oracle: oracle{100, []field{{kind: 'b', size: 10}}},
		}
	case n < 90:
		return npyLayout(r)
	case n < 95:
		return bigannLayout(r)
	default:
		f := field{kind: 'u', size: 4 << r.IntN(2)}
		flags := []string{"-f", "sosd", "-t", f.typeName()}
		return layout{
			flags:     flags,
			container: &sosd,
			oracle:    oracle{f.size, []field{f}},
		}
	}
}

// bigannValues are the types of vectors, by the name of their file format.
var bigannValues = []struct {
	format string
	field  field
}{
	{"fbin", field{kind: 'f', size: 4}},
	{"u8bin", field{kind: 'u', size: 1}},
	{"i8bin", field{kind: 'i', size: 1}},
	{"ibin", field{kind: 'i', size: 4}},
}

// bigannLayout returns a layout of vectors that are sorted by some of their components. The file
// begins with their number and dimension.
func bigannLayout(r *rand.Rand) layout {
	values := bigannValues[r.IntN(len(bigannValues))]
	value := values.field
	dimension := skewed(r, 1, 40)
	l := layout{
		flags:     []string{"-f", values.format},
		container: &bigann,
		dimension: dimension,
	}
	l.size = dimension * value.size
	for range skewed(r, 1, 3) {
		column := r.IntN(dimension)
		f := value
		f.offset = column * value.size
		f.desc = r.IntN(3) == 0
		key := fmt.Sprint(column)
		if f.desc {
			key += ":desc"
		}
		l.fields = append(l.fields, f)
		l.flags = append(l.flags, "-k", key)
	}
	return l
}

// bareLayout returns a layout that consists of a key. Common types are more frequent.
func bareLayout(r *rand.Rand) layout {
	f := randomType(r, 40)
	if r.IntN(3) == 0 {
		f = field{kind: "uif"[r.IntN(3)], size: 4 << r.IntN(2)}
	}
	return layout{
		flags:  []string{"-t", f.typeName()},
		oracle: oracle{f.size, []field{f}},
	}
}

// randomType returns the type of a number, or of at most most bytes.
func randomType(r *rand.Rand, most int) field {
	if r.IntN(5) == 0 {
		return field{kind: 'b', size: skewed(r, 1, most)}
	}
	f := numbers[r.IntN(len(numbers))]
	f.big = f.size > 1 && r.IntN(3) == 0
	return f
}

// keyedLayout returns a layout with up to four fields, which may overlap.
func keyedLayout(r *rand.Rand) layout {
	size := skewed(r, 1, 200)
	if r.IntN(20) == 0 {
		size = skewed(r, 200, 70000)
	}
	l := layout{
		flags:  []string{"-R", fmt.Sprint(size)},
		oracle: oracle{size: size},
	}
	for range skewed(r, 1, 4) {
		f := randomType(r, min(size, 32))
		for f.size > size {
			f = randomType(r, size)
		}
		f.offset, f.desc = r.IntN(size-f.size+1), r.IntN(3) == 0
		l.fields = append(l.fields, f)
		l.flags = append(l.flags, "-k", f.keyFlag())
	}
	return l
}

// npyLayout returns an array of numbers, bytes, or structures, which are sorted by some of their
// fields.
func npyLayout(r *rand.Rand) layout {
	l := layout{flags: []string{"-f", "npy"}, container: &npy}
	if r.IntN(2) == 0 {
		f := npyType(r)
		l.oracle, l.dtype = oracle{f.size, []field{f}}, "'"+npyName(f)+"'"
		return l
	}
	var members []string
	for i := range 1 + r.IntN(4) {
		f := npyType(r)
		f.offset = l.size
		l.size += f.size
		members = append(members, fmt.Sprintf("('m%d', '%s')", i, npyName(f)))
		if i > 0 && r.IntN(2) == 0 {
			continue
		}
		name := fmt.Sprint("m", i)
		if f.desc = r.IntN(3) == 0; f.desc {
			name += ":desc"
		}
		l.fields = append(l.fields, f)
		l.flags = append(l.flags, "-k", name)
	}
	l.dtype = "[" + strings.Join(members, ", ") + "]"
	return l
}

// npyType returns a type that NumPy supports, too.
func npyType(r *rand.Rand) field {
	for {
		f := randomType(r, 24)
		isPower := f.size <= 8 && f.size&(f.size-1) == 0
		if isPower || f.kind == 'b' || f.kind == 'x' && f.size == 12 {
			return f
		}
	}
}

// npyName returns NumPy's name of a type.
func npyName(f field) string {
	switch {
	case f.kind == 'b':
		return fmt.Sprint("|S", f.size)
	case f.kind == 'x':
		return map[bool]string{false: "<f12", true: ">f12"}[f.big]
	case f.size == 1:
		return fmt.Sprintf("|%c1", f.kind)
	case f.big:
		return fmt.Sprintf(">%c%d", f.kind, f.size)
	}
	return fmt.Sprintf("<%c%d", f.kind, f.size)
}

// skewed returns a number from least to most. Small ones are more frequent.
func skewed(r *rand.Rand, least, most int) int {
	return least + int(float64(most-least+1)*r.Float64()*r.Float64())
}
