// Package merge makes one sorted output of many sorted inputs.
package merge
