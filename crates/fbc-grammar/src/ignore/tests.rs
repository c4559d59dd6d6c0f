//! Patterns as go-git matches them, and the order of paths.

use super::*;

fn rules(files: &[(&str, &str)]) -> IgnoreRules {
    let mut rules = IgnoreRules::new();
    for (dir, text) in files {
        rules.add(dir, text.as_bytes()).unwrap();
    }
    rules
}

/// Which of some paths are left out.
fn ignored(files: &[(&str, &str)]) -> Vec<&'static str> {
    let rules = rules(files);
    ["a.yaml", "b.yaml", "d/a.yaml", "d/e/a.yaml", "d/e/c.yaml"]
        .into_iter()
        .filter(|path| rules.is_ignored(path))
        .collect()
}

#[test]
fn a_pattern_without_a_slash_matches_any_part_of_a_path() {
    assert_eq!(
        ignored(&[("", "a.yaml")]),
        ["a.yaml", "d/a.yaml", "d/e/a.yaml"]
    );
    assert_eq!(ignored(&[("", "e")]), ["d/e/a.yaml", "d/e/c.yaml"]);
}

#[test]
fn a_pattern_with_a_slash_begins_at_its_own_directory() {
    assert_eq!(ignored(&[("", "/a.yaml")]), ["a.yaml"]);
    assert_eq!(ignored(&[("", "e/a.yaml")]), [""; 0]);
    assert_eq!(ignored(&[("d", "e/a.yaml")]), ["d/e/a.yaml"]);
    assert_eq!(ignored(&[("", "d/*.yaml")]), ["d/a.yaml"]);
    assert_eq!(ignored(&[("", "d/e")]), ["d/e/a.yaml", "d/e/c.yaml"]);
}

#[test]
fn two_stars_stand_for_directories_only_as_a_whole_part() {
    assert_eq!(ignored(&[("", "**/e/a.yaml")]), ["d/e/a.yaml"]);
    assert_eq!(
        ignored(&[("", "d/**")]),
        ["d/a.yaml", "d/e/a.yaml", "d/e/c.yaml"]
    );
    assert_eq!(
        ignored(&[("", "**/a.yaml")]),
        ["a.yaml", "d/a.yaml", "d/e/a.yaml"]
    );
    assert_eq!(ignored(&[("", "d/**a.yaml")]), [""; 0]);
}

#[test]
fn a_trailing_slash_means_directories() {
    assert_eq!(ignored(&[("", "e/")]), ["d/e/a.yaml", "d/e/c.yaml"]);
    assert_eq!(ignored(&[("", "a.yaml/")]), [""; 0]);
    assert_eq!(
        ignored(&[("", "/d/")]),
        ["d/a.yaml", "d/e/a.yaml", "d/e/c.yaml"]
    );
    assert_eq!(ignored(&[("", "/\n!\n")]), [""; 0]);
}

#[test]
fn the_last_rule_that_matches_decides() {
    assert_eq!(
        ignored(&[("", "*.yaml\n!b.yaml")]),
        ["a.yaml", "d/a.yaml", "d/e/a.yaml", "d/e/c.yaml"]
    );
    assert_eq!(ignored(&[("", "!b.yaml\n*.yaml")]).len(), 5);
    assert_eq!(
        ignored(&[("", "*.yaml\n!e/")]),
        ["a.yaml", "b.yaml", "d/a.yaml"]
    );
}

#[test]
fn a_file_comes_back_although_its_directory_is_ignored() {
    assert_eq!(
        ignored(&[("", "d\n!d/e/c.yaml")]),
        ["d/a.yaml", "d/e/a.yaml"]
    );
}

#[test]
fn the_rules_of_a_deeper_directory_win_in_whichever_order_they_come() {
    let outer = ("", "a.yaml");
    let inner = ("d", "!a.yaml");
    assert_eq!(ignored(&[outer, inner]), ["a.yaml"]);
    assert_eq!(ignored(&[inner, outer]), ["a.yaml"]);
}

#[test]
fn rules_of_a_directory_that_sorts_before_the_ignore_file_come_first() {
    let rules = rules(&[("", "x"), ("-d", "!x")]);
    assert!(rules.is_ignored("-d/x"));
}

#[test]
fn blanks_comments_and_line_ends_do_not_count() {
    assert_eq!(
        ignored(&[("", "# b.yaml\r\n\r\n \t c.yaml \r\n #d")]),
        ["d/e/c.yaml"]
    );
    assert_eq!(ignored(&[("", "\u{feff}a.yaml\nb.yaml")]), ["b.yaml"]);
}

#[test]
fn an_ignore_file_is_never_part_of_the_catalog() {
    assert!(IgnoreRules::new().is_ignored(".indexignore"));
    assert!(rules(&[("", "!.indexignore")]).is_ignored("d/.indexignore"));
    assert!(!IgnoreRules::new().is_ignored(".indexignore/a.yaml"));
}

#[test]
fn all_files_together_have_rules_up_to_the_limit() {
    let mut rules = IgnoreRules::new();
    assert_eq!(
        rules.add("a", "# none\n".repeat(MAX_RULES).as_bytes()),
        Ok(())
    );
    assert_eq!(
        rules.add("b", "x\n".repeat(MAX_RULES - 1).as_bytes()),
        Ok(())
    );
    assert_eq!(rules.add("c", b"y"), Ok(()));
    assert_eq!(
        rules.add("d", b"z"),
        Err(IgnoreError::TooManyRules {
            dir: "d".to_owned()
        })
    );
}

#[test]
fn a_line_is_refused_from_one_byte_over_the_limit() {
    let mut rules = IgnoreRules::new();
    assert_eq!(rules.add("", "x".repeat(MAX_LINE).as_bytes()), Ok(()));
    assert_eq!(
        rules.add("d", format!("a\n{}", "x".repeat(MAX_LINE + 1)).as_bytes()),
        Err(IgnoreError::LineTooLong {
            dir: "d".to_owned(),
            line: 2
        })
    );
}

#[test]
fn paths_are_ordered_by_directory() {
    let mut paths = ["a.yaml", "a/z", "a-b/c", "B/x", "a/b/c", "10", "9", "_"];
    paths.sort_by(|a, b| compare_paths(a, b));
    assert_eq!(
        paths,
        ["10", "9", "B/x", "_", "a/b/c", "a/z", "a-b/c", "a.yaml"]
    );
}

#[test]
fn the_rules_of_all_files_have_bytes_up_to_the_limit() {
    let mut rules = IgnoreRules::new();
    let line = "x".repeat(MAX_RULE_BYTES / 32) + "\n";
    assert_eq!(
        rules.add("a", (line.repeat(31) + "# " + &line).as_bytes()),
        Ok(())
    );
    assert_eq!(rules.add("b", line.as_bytes()), Ok(()));
    assert_eq!(
        rules.add("c", b"y"),
        Err(IgnoreError::RulesTooLong {
            dir: "c".to_owned()
        })
    );
}

#[test]
fn matching_has_a_budget_for_all_files_together() {
    let mut rules = IgnoreRules::new();
    rules
        .add("", ("*a".repeat(1_000) + "b\n").repeat(100).as_bytes())
        .unwrap();
    let name = "a".repeat(2_000);
    let mut few = vec![name.as_str(); 2];
    assert_eq!(rules.remove_ignored(&mut few, |path| path), Ok(()));
    assert_eq!(few.len(), 2);
    let mut many = vec![name.as_str(); 1_000_000];
    let error = IgnoreError::TooMuchWork { files: 1_000_000 };
    assert_eq!(rules.remove_ignored(&mut many, |path| path), Err(error));
}

#[test]
fn the_files_that_are_left_are_those_that_no_rule_excludes() {
    let rules = rules(&[("", "*.md\n!d/*")]);
    let mut files = vec!["a.md", "d/a.md", "b", ".indexignore"];
    rules.remove_ignored(&mut files, |path| path).unwrap();
    assert_eq!(files, ["d/a.md", "b"]);
}
