package radix

// numberVectors numbers the first elements with vector instructions, and returns how many.
func numberVectors[E Element](
	b *Buckets[E],
	numbers []uint32,
	elems []E,
) (done int) {
	const vector = 8
	if done = len(elems) &^ (vector - 1); done == 0 || !hasVectors {
		return 0
	}
	to := &numbers[:done][0]
	switch b := any(b).(type) {
	case *Buckets[uint32]:
		number := numberPlain32
		if b.isGraded() {
			number = numberGraded32
		} else if b.isFitted() {
			number = numberEven32
		}
		number(to, firstWord[uint32](elems), done, b)
	case *Buckets[uint64]:
		number := numberPlain64
		if b.isGraded() {
			number = numberGraded64
		} else if b.isFitted() {
			number = numberEven64
		}
		number(to, firstWord[uint64](elems), done, b)
	}

	return done
}

// The assembly numbers plain buckets, and fitted buckets with cells of equal width or graded
// cells. It requires hasVectors, and n must be a positive multiple of 8.

//go:noescape
func numberPlain32(numbers, elems *uint32, n int, b *Buckets[uint32])

//go:noescape
func numberPlain64(numbers *uint32, elems *uint64, n int, b *Buckets[uint64])

//go:noescape
func numberEven32(numbers, elems *uint32, n int, b *Buckets[uint32])

//go:noescape
func numberGraded32(numbers, elems *uint32, n int, b *Buckets[uint32])

//go:noescape
func numberEven64(numbers *uint32, elems *uint64, n int, b *Buckets[uint64])

//go:noescape
func numberGraded64(numbers *uint32, elems *uint64, n int, b *Buckets[uint64])
