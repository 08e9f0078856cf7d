// Package verify checks JSON-array fetches by the rules of APIJSON's table Request, which an admin keeps with a graph: what a request of a
// method with a tag must, may not and may hold, and what the server puts into it.
//
//	shard.Graph.Definitions ── Of ── Rules ── Apply ──► request, changed as its rule says, or an error that names the key
//
// A rule is one row of the table: method, tag, version and structure. The structure follows the request, with words in upper case among
// the keys of its objects:
//
//	{"Moment": {"MUST": "content", "REFUSE": "!", "TYPE": {"content": "STRING"}, "VERIFY": {"content{L}": ">0,<=200"}, "INSERT": {"views": 0}}}
package verify
