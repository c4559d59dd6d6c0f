//! Explanations of bundles that were passed over: what they take, and how many there are.

use std::fmt::Write as _;

use fbc::Catalog;
use fbc::work::Work;
use solve::{MAX_PASSED_OVER, MAX_QUESTIONS, Solution, SolveOutcome, SourceCatalog, solve};
use testing::fixture::catalog;

use crate::bounds::{alternatives, wanted};

/// Package `pear` and `plum`, each of whose newest bundles are impossible, with one that is
/// possible below them.
fn impossible(count: usize) -> Catalog {
    let mut lines = String::new();
    for package in ["pear", "plum"] {
        let names: Vec<_> = (0..=count).map(|at| format!("v1.{at}.0")).collect();
        write!(
            lines,
            "package {package} default=stable\nchannel stable: {}\n",
            names.join(" <- ")
        )
        .unwrap();
        for name in &names[1..] {
            writeln!(lines, "bundle {name} needs=missing@>=1.0.0").unwrap();
        }
    }
    catalog(&lines)
}

/// Solves for both packages.
fn with_solution<R>(
    count: usize,
    budget: u64,
    read: impl FnOnce(&Solution<'_>, &Work<'_>) -> R,
) -> R {
    let catalog = impossible(count);
    let work = Work::unlimited();
    let request = wanted(&["pear", "plum"]);
    let catalogs = [SourceCatalog {
        name: "main",
        namespace: "olm",
        priority: 0,
        labels: None,
        catalog: &catalog,
    }];
    match solve(&request, &catalogs, budget, &work).unwrap() {
        SolveOutcome::Solution(solution) => read(&solution, &work),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_first_twenty_passed_over_bundles_of_a_step_are_explained_and_no_more() {
    with_solution(MAX_PASSED_OVER + 1, u64::MAX, |solution, _| {
        let step = &solution.steps[0];
        assert_eq!(step.passed_over, MAX_PASSED_OVER + 1);
        let explained = |first: usize| solution.passed_over(step, first).unwrap().len();
        assert_eq!(
            [0, 1, MAX_PASSED_OVER, MAX_PASSED_OVER + 1].map(explained),
            [0, 1, MAX_PASSED_OVER, MAX_PASSED_OVER]
        );
    });
}

#[test]
fn constraints_are_stated_once_for_all_explanations_of_a_solution() {
    with_solution(2_000, u64::MAX, |solution, work| {
        let units = |step: usize| {
            let before = work.units();
            assert_eq!(
                solution
                    .passed_over(&solution.steps[step], 1)
                    .unwrap()
                    .len(),
                1
            );
            work.units() - before
        };
        let first = units(0);
        let second = units(1);
        // The constraints name some 16,000 bundles, each of which takes 60 nanoseconds to state.
        assert!(second + 500 < first, "{first} units, then {second}");
    });
}

#[test]
fn all_explanations_of_a_solution_have_one_budget() {
    const BUDGET: u64 = 10_000_000;
    with_solution(500, BUDGET, |solution, work| {
        let before = work.units();
        let explained = (0..50).map(|at| {
            solution
                .passed_over(&solution.steps[at % 2], MAX_PASSED_OVER)
                .unwrap()
                .len()
        });
        let explained: Vec<usize> = explained.collect();
        let taken = work.units() - before;
        // What the solver propagates is paid after each question.
        assert!(taken <= 2 * BUDGET / 1_000, "{taken} units");
        assert_eq!(
            (explained.first(), explained.last()),
            (Some(&MAX_PASSED_OVER), Some(&0)),
            "{explained:?}"
        );
    });
}

#[test]
fn the_text_of_a_reason_is_paid_when_it_is_written() {
    let catalog = alternatives(500);
    let work = Work::unlimited();
    let request = wanted(&["fig"]);
    let catalogs = [SourceCatalog {
        name: "main",
        namespace: "olm",
        priority: 0,
        labels: None,
        catalog: &catalog,
    }];
    let SolveOutcome::Conflict(conflict) = solve(&request, &catalogs, u64::MAX, &work).unwrap()
    else {
        panic!("none of them is possible")
    };
    let before = work.units();
    let longest = conflict
        .reasons
        .iter()
        .max_by_key(|reason| reason.candidates().count())
        .unwrap();
    assert_eq!((longest.candidates().count(), work.units()), (500, before));
    let text = longest.text(&work).unwrap();
    // Each of them is named, and sorted where there is no order of preference.
    assert_eq!(text.matches("main/olm/stable/fig").count(), 500);
    assert!(
        work.units() >= before + 30,
        "{} units",
        work.units() - before
    );
}

#[test]
fn the_solver_is_asked_so_many_questions_and_no_more() {
    with_solution(1, u64::MAX, |solution, _| {
        let explained =
            (0..=MAX_QUESTIONS).map(|_| solution.passed_over(&solution.steps[0], 1).unwrap().len());
        let explained: Vec<usize> = explained.collect();
        // Each explanation takes two: whether all constraints contradict one another, and whether
        // its only reason is needed.
        let count = explained.iter().take_while(|&&count| count == 1).count();
        assert!(
            explained[count..].iter().all(|&count| count == 0),
            "none is explained after the limit"
        );
        let of_each = MAX_QUESTIONS / count;
        assert_eq!((of_each, count), (2, MAX_QUESTIONS / 2));
    });
}
