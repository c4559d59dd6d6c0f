//! What is shown of an outcome, whose words and drawings are those of the plugin of kubectl as
//! well.

use fbc::work::Work;
use printing::solution::{
    ReasonSource, ShownBundle, ShownConflict, ShownConstraint, ShownOutcome, ShownReason, ShownStep,
};
use solve::{
    ChannelBundle, Conflict, ConflictReason, MAX_PASSED_OVER, PassedOverBundle, Solution,
    SolutionStep, SolveOutcome, SourceCatalog, StepReason,
};

/// Returns what is shown; what was passed over only if that is asked for, because it is searched
/// for.
pub(super) fn shown(
    outcome: &SolveOutcome<'_>,
    catalogs: &[SourceCatalog<'_>],
    explain: bool,
) -> ShownOutcome {
    match outcome {
        SolveOutcome::Solution(solution) => {
            let steps = solution
                .steps
                .iter()
                .map(|step| shown_step(solution, step, catalogs, explain));
            ShownOutcome::Solution(steps.collect())
        }
        SolveOutcome::Conflict(conflict) => {
            ShownOutcome::Conflict(shown_conflict(conflict, catalogs))
        }
        SolveOutcome::Refusal(refusal) => ShownOutcome::Refusal {
            message: refusal.message.clone(),
            bundle: refusal.bundle.map(|bundle| placed(bundle, catalogs)),
        },
    }
}

fn shown_step<'a>(
    solution: &Solution<'a>,
    step: &SolutionStep<'a>,
    catalogs: &[SourceCatalog<'_>],
    explain: bool,
) -> ShownStep {
    let passed_over = if explain {
        let passed_over = solution.passed_over(step, MAX_PASSED_OVER);
        passed_over.expect("an account without limit stops nothing")
    } else {
        Vec::new()
    };
    let constraints = |better: &PassedOverBundle<'_>| {
        better
            .reasons
            .iter()
            .map(|reason| constraint(reason, catalogs))
            .collect()
    };
    ShownStep {
        bundle: placed(step.placed, catalogs),
        is_upgrade: step.is_upgrade,
        // A new installation replaces nothing, whatever its entry says.
        replaces: step
            .replaces
            .filter(|_| step.is_upgrade)
            .unwrap_or_default()
            .to_owned(),
        reasons: step.reasons.iter().filter_map(reason).collect(),
        more_passed_over: step.passed_over.saturating_sub(passed_over.len()),
        passed_over: passed_over
            .iter()
            .map(|one| (placed(one.placed, catalogs), constraints(one)))
            .collect(),
    }
}

/// Why a bundle is installed.
fn reason(reason: &StepReason<'_>) -> Option<ShownReason> {
    let by = match (
        reason.wanted,
        reason.required_by,
        reason.required_by_installed,
    ) {
        (Some(wanted), ..) => ReasonSource::Wanted(wanted.to_owned()),
        (_, Some(bundle), _) => ReasonSource::Bundle(bundle.entry.name().to_owned()),
        (.., installed) => ReasonSource::Installed(installed?.to_owned()),
    };
    Some(ShownReason {
        by,
        requirement: reason.requirement.clone().unwrap_or_default(),
    })
}

fn shown_conflict(conflict: &Conflict<'_>, catalogs: &[SourceCatalog<'_>]) -> ShownConflict {
    ShownConflict {
        constraints: conflict
            .reasons
            .iter()
            .map(|reason| constraint(reason, catalogs))
            .collect(),
        relaxations: conflict
            .relaxations
            .iter()
            .map(|one| (one.wanted.to_owned(), one.is_solvable))
            .collect(),
    }
}

fn constraint(reason: &ConflictReason<'_>, catalogs: &[SourceCatalog<'_>]) -> ShownConstraint {
    ShownConstraint {
        kind: reason.kind.as_str().to_owned(),
        text: reason
            .text(&Work::unlimited())
            .expect("an account without limit stops nothing"),
        bundle: reason.bundle.map(|bundle| placed(bundle, catalogs)),
        installed: reason.installed.map(str::to_owned),
        wanted: reason.wanted.map(str::to_owned),
        failure_message: reason.failure_message().map(str::to_owned),
        candidates: reason
            .candidates()
            .map(|bundle| placed(bundle, catalogs))
            .collect(),
        has_more_candidates: false,
    }
}

/// A bundle with its channel and catalog.
fn placed(bundle: ChannelBundle<'_>, catalogs: &[SourceCatalog<'_>]) -> ShownBundle {
    ShownBundle {
        name: bundle.entry.name().to_owned(),
        channel: Some(bundle.channel().name().to_owned()),
        catalog: catalogs[bundle.catalog].name.to_owned(),
    }
}
