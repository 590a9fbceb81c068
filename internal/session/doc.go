// Package session carries out one call of the library: a sort, a merge, a check, or a plan for a sort. It is internal.
// The root package of this module is the API that programs import.
package session
