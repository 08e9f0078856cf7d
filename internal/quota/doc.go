// Package quota counts what callers take in windows of time, and refuses requests of those who have taken what their quotas allow.
//
//	definitions ─ All ─► Ledger ─ Of(caller) ─► Accounts ─ Enter, before a request ─► it runs, or is refused
//	                       │                        └───── Charge, at its end
//	                       │ Report: used           ▲
//	                       ▼ once a second at least │ Grant: a batch
//	                     Source: the Lender of the process that leads the cluster
//
// Windows are fixed, and begin with the seconds, minutes, hours and days of UTC: their amount comes back at once at a time that can be
// told, "50 left, 12 s to the next 100", which is what the RateLimit fields say. A caller may take the amounts of two windows around their
// border. The other way, a rate with a burst as GCRA has it, spreads requests but knows no such time, and it has nothing that expires: a
// batch that a gateway has lost with its process would have to be returned by somebody.
//
// Without a Source a Ledger decides by itself. With one, it shares each account with other processes. The Lender divides the amount of a window
// among them in batches, which follow from what is left, so that the last ones are small. A process asks for the next batch when half of one
// is used, and returns what it has not used for a second. A batch lasts for LeaseTime or to the end of its window, whichever is first.
//
//   - Within GraceTime of its first request in a window, or of the end of a batch, a process lets requests run without an answer. That is the most
//     by which all may take too much, beside requests that run already: a request is charged at its end and refused only by what is charged.
//   - Without an answer for longer, it refuses requests of quotas that are enforced, as temporarily unavailable: it does not know what others
//     take.
//   - A new Lender knows nothing. Reports tell all that a process has used in the present window, and what it still holds of its batches, as soon
//     as an answer comes from another Lender than before, which is within a second. For WarmTime the new one lends small batches. Each process
//     remembers what it knew others to have used. So what is lost, for the present window, is what processes have used since their last report
//     that ended together with the former Lender, and all that they have used to processes that begin later.
package quota
