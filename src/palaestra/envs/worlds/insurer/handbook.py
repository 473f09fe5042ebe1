"""The department's handbook: its sections, written from the rules."""

from palaestra.envs.kit import Section, amount, count, parse_sections
from palaestra.envs.worlds.insurer.rules import InsurerRules

_TEXT = """
## COV-1 Time of cover
A loss is paid under the cover of the contract that insures its peril, if the cover had begun by the day of the loss
and had not ended before it. The days of the contract do not count, those of the cover do. Otherwise the matter is
declined by this section; the record that shows it is the cover.
## COV-2 Waiting period
Storm and water are insured from {waiting} after the day on which the cover began. What happened before that is
declined by this section; the record that shows it is the cover. Other perils have no waiting period.
## RPT-1 Reporting a loss
A loss is reported at most {report} after its day, theft and burglary at most {theft} after it. What was reported later
is declined by this section; the record that shows it is the claim.
## PRE-1 Premiums that are overdue
A contract pays nothing if, on the day of the loss, a premium was unpaid whose reminder had been sent more than {grace}
before; a payment after the loss does not change that. The matter is declined by this section; the record that shows it
is the premium. Without a reminder, or with a later one, the cover holds.
## PRE-2 Arrears
What a policyholder is paid is reduced by every premium of the contract that is due and unpaid. The payment is made
for what is left, and each such premium is set off against the claim. Payments to garages are not reduced.
## HIS-1 One loss, one claim
A loss is paid once. If another claim of the same contract has the same peril and the same day of loss, and was
settled, the matter is declined by this section; the record that shows it is that other claim.
## HIS-2 Series of claims
If {series} or more other claims of the same contract were settled whose losses lie at most {span} before this loss,
nothing is paid here: the matter is escalated to investigations with high priority by this section; the record that
shows it is the contract.
## EVD-1 Police report
For theft and burglary with an estimate above {police_from}, nothing is paid before a police report was received. If
none was asked for, it is: a policyholder who answers is asked for its number, which is recorded; for others it is
requested, they are told so, and the matter is resolved without a payment. If it was requested more than {police_days}
ago and has not come, the matter is declined by this section; the record that shows it is the document.
## BIL-1 Invoices are paid once
An invoice is paid once. If an invoice of the same number was paid on the claim before, the new one is declined by this
section; the record that shows it is the payment. A payment that was reclaimed does not count. Where one invoice was
paid twice, the later payment is reclaimed. If its invoices differ, nothing is reclaimed and the matter is declined by
this section; the record that shows it is the later payment.
## BIL-2 Other garages
A partner's invoice counts in full. Of a garage that is no partner, an hour of labour counts with at most {rate}, and
the VAT is worked out again.
## BIL-3 VAT
VAT is {vat} per cent of parts and labour. A policyholder who is registered for VAT gets it back from the state, so VAT
does not count for them: only parts and labour do.
## DED-1 Deductible and limit
From what counts of the loss, the deductible of the cover is taken off. The rest is paid up to the limit of the cover.
Assistance, such as towing, is paid beside it.
## DEP-1 Used things
A lost thing counts with 100 per cent of its price if it was bought less than {new} before the day of the loss, with
{used} per cent up to {old}, and with {old_percent} per cent from {old} on.
## DEP-2 Valuables
Valuables are not reduced for their age. All valuables of a claim together count with at most {valuables} per cent of
the limit of the cover.
## SET-1 What was paid before
Advances and compensation that were paid on a claim are taken off the compensation, and the rest is paid. If nothing is
left, the matter is declined by this section; the record that shows it is the latest of these payments.
## ADV-1 Advances
An advance is paid on an open claim, if all advances together come to at most {advance} per cent of the reserve. A wish
for more is declined by this section, and nothing is paid; the record that shows it is the reserve.
## AUT-1 Authority
You pay up to {own} alone. Above that a colleague of claims approves the payment, and above {four_eyes} one of
controlling in place of one of claims.
## AUT-2 Who approves
Of the colleagues whose limit covers the amount, the one with the lowest limit is named as approver, or their delegate
while they are on leave, whatever the delegate's own limit. Where that one is on leave too, or is related to the
policyholder, the colleague with the next limit counts. If nobody is left, the matter is escalated to management with
normal priority by this section; the record that shows it is the claim.
## AUT-3 Relatives
Nobody decides about relatives. A matter of a policyholder to whom you are related is escalated to management with
normal priority by this section; the record that shows it is your own.
## RPR-1 Release of repairs
A repair is released to the garage that the policyholder chooses, for the amount of the estimate, if that is at most
{total_loss} per cent of the value of the car. A wish for a dearer repair is declined by this section; the record that
shows it is the estimate.
## SUR-1 Surveyors
A surveyor is sent if the loss is estimated at {survey_from} or more: of those at work in the field and in the town of
the policyholder, the one with the fewest open surveys. For less, none is sent and the matter is declined by this
section; the record that shows it is the claim.
## REC-1 Recovery
If somebody else is liable, their insurer is asked for their share, in per cent, of all that was paid on the claim, up
to {recovery} after the loss. A later wish is declined by this section; the record that shows it is the claim.
## REC-2 Sharing agreements
With some insurers there is a sharing agreement: nothing is demanded of them unless more than {sharing} was paid on the
claim. Such a wish is declined by this section; the record that shows it is the other insurer.
## REC-3 Deductible back
Once a recovery was received, the policyholder gets as much of the deductible as the other insurer has accepted of the
demand, in per cent. Before that, the matter is declined by this section; the record that shows it is the recovery.
## RES-1 New claims
A loss that is insured is registered under its contract and peril, with the day and the estimate that the policyholder
states. The reserve of a new claim is its estimate and {reserve} per cent more.
## WDR-1 Withdrawal
A policyholder may withdraw an open claim of their own on which nothing was paid. Whoever names the claim of somebody
else is asked which one they mean. If something was paid on it, the matter is declined by this section; the record that
shows it is the latest payment.
## PRV-1 Who is told
What was paid on a claim is told to the policyholder alone, who writes from the address on file. To anybody else the
matter is declined by this section; the record that shows it is the policyholder. Only payments that were made count;
those that are pending or were reclaimed do not.
"""


def write_sections(rules: InsurerRules) -> list[Section]:
    """The handbook under these rules."""
    return parse_sections(
        _TEXT.format(
            waiting=count(rules.waiting_days, "day"),
            report=count(rules.report_days, "day"),
            theft=count(rules.theft_days, "day"),
            grace=count(rules.grace_days, "day"),
            series=rules.series_claims,
            span=count(rules.series_days, "day"),
            police_from=amount(rules.police_from_cents),
            police_days=count(rules.police_days, "day"),
            rate=amount(rules.labour_rate_cents),
            vat=rules.vat_percent,
            new=count(rules.new_years, "year"),
            old=count(rules.old_years, "year"),
            used=rules.used_percent,
            old_percent=rules.old_percent,
            valuables=rules.valuables_percent,
            advance=rules.advance_percent,
            own=amount(rules.own_limit_cents),
            four_eyes=amount(rules.four_eyes_cents),
            total_loss=rules.total_loss_percent,
            survey_from=amount(rules.survey_from_cents),
            recovery=count(rules.recovery_days, "day"),
            sharing=amount(rules.sharing_cents),
            reserve=rules.reserve_percent,
        )
    )
