//! Bounds what evaluating a CEL rule costs: nothing interrupts an evaluation, so it is estimated
//! before.
//!
//! The interpreter copies values with everything in them: an item that a macro binds to its
//! variable, the parts of lists and maps that a rule writes, and what `+` joins. A step is at most
//! one value that is looked at or copied, so that steps bound memory too.

use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue};

/// Steps to look for a pattern of [`super::MAX_PATTERN_BYTES`] in a block of text.
const PATTERN_BLOCK_STEPS: u64 = 2_500;

/// Number of parts of a rule whose bounds are found in the time of one step.
const BOUNDS_OF_STEP: u64 = 4;

/// Number of bytes of a text that are looked at in one step.
pub(super) const BLOCK_BYTES: u64 = 256;

/// How large a value is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    /// Number of items or entries.
    pub(super) items: u64,
    /// Weight of the largest one.
    pub(super) largest: u64,
    /// Steps to look at all of it, or to copy it: one for each value in it, whatever its depth, and
    /// for each block of its texts.
    pub(super) weight: u64,
}

/// An upper bound of an expression.
#[derive(Clone, Copy)]
struct Bound {
    /// Steps to evaluate it.
    steps: u64,
    /// Its value.
    size: Size,
}

/// Sizes of the variables in scope, innermost last.
type Scope<'e> = Vec<(&'e str, Size)>;

/// Returns the depth of macros inside of one another.
pub(super) fn depth(rule: &IdedExpr) -> usize {
    let deepest = children(rule).into_iter().map(depth).max().unwrap_or(0);
    deepest + usize::from(matches!(rule.expr, Expr::Comprehension(_)))
}

/// Returns the patterns of `matches`; `None` for one that is not written in the rule.
pub(super) fn patterns(rule: &IdedExpr) -> Vec<Option<&str>> {
    let mut found: Vec<_> = children(rule).into_iter().flat_map(patterns).collect();
    if let Expr::Call(call) = &rule.expr
        && call.func_name == "matches"
    {
        found.push(match call.args.last().map(|pattern| &pattern.expr) {
            Some(Expr::Literal(LiteralValue::String(text))) => Some(text.inner()),
            _ => None,
        });
    }
    found
}

/// Returns the steps that parsing a rule takes: its parser takes longer for each byte of a longer
/// rule.
pub(super) fn parse_steps(rule: &str) -> u64 {
    let bytes = rule.len() as u64;
    bytes * (6 + bytes / 150)
}

/// Returns the steps that [`steps`] takes itself.
pub(super) fn bound_steps(rule: &IdedExpr) -> u64 {
    bounded_parts(rule).div_ceil(BOUNDS_OF_STEP)
}

/// Number of calls of [`bound`]: of what a macro repeats it is called twice.
fn bounded_parts(rule: &IdedExpr) -> u64 {
    let repeated = match &rule.expr {
        Expr::Comprehension(body) => bounded_parts(&body.loop_step),
        _ => 0,
    };
    children(rule).into_iter().map(bounded_parts).sum::<u64>() + repeated + 1
}

/// Returns an upper bound of the steps, by the size of the properties.
pub(super) fn steps(rule: &IdedExpr, properties: Size) -> u64 {
    bound(rule, &mut vec![("properties", properties)]).steps
}

/// Returns the steps that compiling a pattern takes, which each look-up does.
pub(super) fn pattern_steps(pattern: &str) -> u64 {
    let of_byte = if folds_ranges(pattern) { 6_000 } else { 20 };
    let once = if has_escapes(pattern) || dots(pattern) > 0 {
        1_000
    } else {
        200
    };
    once + of_byte * pattern.len() as u64
}

/// Returns the steps that looking for a pattern in a block of text takes, by the states that it is
/// compiled to.
fn pattern_block_steps(pattern: &str) -> u64 {
    if has_escapes(pattern) || pattern.contains('{') {
        return PATTERN_BLOCK_STEPS;
    }
    PATTERN_BLOCK_STEPS.min(20 * (1 + pattern.len() as u64) + 200 * dots(pattern))
}

/// Whether a pattern may have classes with parts all over Unicode, such as `\w` and `\pL`.
fn has_escapes(pattern: &str) -> bool {
    let mut bytes = pattern.bytes();
    !pattern.is_ascii()
        || std::iter::from_fn(|| bytes.find(|&byte| byte == b'\\').map(|_| bytes.next()))
            .any(|escaped| escaped.is_none_or(|byte| byte.is_ascii_alphanumeric()))
}

/// Number of classes of all characters but few: `.` and `[^x]`.
fn dots(pattern: &str) -> u64 {
    (pattern.matches('.').count() - pattern.matches("\\.").count() + pattern.matches("[^").count())
        as u64
}

/// Whether a pattern may look for the other case of each character of a large class, such as
/// `(?i)[^\D]`, which takes milliseconds for each.
fn folds_ranges(pattern: &str) -> bool {
    let is_flag = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'-';
    let ignores_case = pattern
        .split('?')
        .skip(1)
        .any(|flags| flags.bytes().take_while(is_flag).any(|flag| flag == b'i'));
    let has = |texts: &[&str]| texts.iter().any(|text| pattern.contains(text));
    let has_sets = has(&["&&", "--", "~~"]) || !pattern.is_ascii() || pattern.contains('\\');
    ignores_case && (has(&["\\p", "\\P"]) || pattern.contains('[') && has_sets)
}

impl Size {
    /// A value without parts, and its blocks of text.
    pub(super) fn of_text(bytes: usize) -> Self {
        Self::of_any(1 + bytes as u64 / BLOCK_BYTES)
    }

    /// Whatever weighs so much.
    fn of_any(weight: u64) -> Self {
        Self {
            items: weight,
            largest: weight,
            weight,
        }
    }

    /// What has the items of both.
    fn and(self, other: Self) -> Self {
        Self {
            items: self.items.saturating_add(other.items),
            largest: self.largest.max(other.largest),
            weight: self.weight.saturating_add(other.weight),
        }
    }

    /// What is one or the other.
    fn or(self, other: Self) -> Self {
        Self {
            items: self.items.max(other.items),
            largest: self.largest.max(other.largest),
            weight: self.weight.max(other.weight),
        }
    }

    /// A list or a map of such.
    fn of_items(parts: &[Self]) -> Self {
        let weights = parts.iter().map(|part| part.weight);
        Self {
            items: parts.len() as u64,
            largest: weights.clone().max().unwrap_or(0),
            weight: weights.fold(1, u64::saturating_add),
        }
    }
}

fn bound<'e>(expr: &'e IdedExpr, scope: &mut Scope<'e>) -> Bound {
    if let Expr::Comprehension(_) = &expr.expr {
        return bound_macro(expr, scope);
    }
    let parts: Vec<Bound> = children(expr)
        .into_iter()
        .map(|child| bound(child, scope))
        .collect();
    let steps = parts
        .iter()
        .map(|part| part.steps)
        .fold(0, u64::saturating_add);
    let sizes: Vec<Size> = parts.iter().map(|part| part.size).collect();
    let (own, size) = match &expr.expr {
        Expr::Ident(name) => {
            let variable = scope.iter().rfind(|(variable, _)| variable == name);
            (1, variable.map_or(Size::of_any(1), |(_, size)| *size))
        }
        Expr::Call(call) => {
            if let ("matches", Some(Expr::Literal(LiteralValue::String(pattern)))) = (
                &*call.func_name,
                call.args.last().map(|pattern| &pattern.expr),
            ) {
                let own = pattern_steps(pattern.inner())
                    + sizes[0].weight * pattern_block_steps(pattern.inner());
                return Bound {
                    steps: steps.saturating_add(own),
                    size: Size::of_any(1),
                };
            }
            // What a macro appends to its result is all that is copied.
            let is_append = call.func_name == "_+_" && is_result(&call.args[0]);
            let copied = &sizes[usize::from(is_append)..];
            (
                call_steps(&call.func_name, copied),
                call_size(&call.func_name, &sizes),
            )
        }
        Expr::Select(_) => (1, Size::of_any(sizes[0].weight)),
        Expr::Literal(literal) => (1, literal_size(literal)),
        // What it is made of is copied into it.
        _ => (Size::of_items(&sizes).weight, Size::of_items(&sizes)),
    };
    Bound {
        steps: steps.saturating_add(own),
        size,
    }
}

/// Whether an expression is the result of a macro so far: no rule can write its name.
fn is_result(expr: &IdedExpr) -> bool {
    matches!(&expr.expr, Expr::Ident(name) if name.starts_with('@'))
}

/// Bounds a macro, whose result grows by the same with each item.
fn bound_macro<'e>(expr: &'e IdedExpr, scope: &mut Scope<'e>) -> Bound {
    let Expr::Comprehension(body) = &expr.expr else {
        unreachable!("the expression is a macro")
    };
    let range = bound(&body.iter_range, scope);
    let initial = bound(&body.accu_init, scope);
    let depth = scope.len();
    scope.push((&body.accu_var, initial.size));
    scope.push((&body.iter_var, Size::of_any(range.size.largest)));
    let first = bound(&body.loop_step, scope).size;
    let grown = |initial: u64, first: u64| {
        initial.saturating_add(
            first
                .saturating_sub(initial)
                .saturating_mul(range.size.items),
        )
    };
    scope[depth].1 = Size {
        items: grown(initial.size.items, first.items),
        largest: first.largest,
        weight: grown(initial.size.weight, first.weight),
    };
    let [step, condition, result] =
        [&body.loop_step, &body.loop_cond, &body.result].map(|part| bound(part, scope));
    scope.truncate(depth);
    let copied_item = range.size.largest.saturating_add(1);
    let each = [step.steps, condition.steps, copied_item]
        .into_iter()
        .fold(0, u64::saturating_add);
    let once = [range.steps, initial.steps, result.steps]
        .into_iter()
        .fold(0, u64::saturating_add);
    Bound {
        steps: range.size.items.saturating_mul(each).saturating_add(once),
        size: result.size,
    }
}

/// Steps of a call itself, by the sizes of what it is called with.
fn call_steps(name: &str, sizes: &[Size]) -> u64 {
    let weights = sizes.iter().map(|size| size.weight);
    let look = match name {
        "_&&_" | "_||_" | "!_" | "_?_:_" => 0,
        "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_" => weights.min().unwrap_or(0),
        "@in" => weights.max().unwrap_or(0),
        _ => weights.fold(0, u64::saturating_add),
    };
    look.saturating_add(1)
}

/// Size of the result of a call.
fn call_size(name: &str, sizes: &[Size]) -> Size {
    match (name, sizes) {
        ("_[_]", [container, _]) => Size::of_any(container.largest),
        ("_+_", [one, other]) => one.and(*other),
        ("_?_:_", [_, one, other]) => one.or(*other),
        ("string" | "bytes" | "dyn", [one]) => one.and(Size::of_any(1)),
        _ => Size::of_any(1),
    }
}

fn literal_size(literal: &LiteralValue) -> Size {
    match literal {
        LiteralValue::String(text) => Size::of_text(text.inner().len()),
        LiteralValue::Bytes(bytes) => Size::of_text(bytes.inner().len()),
        _ => Size::of_any(1),
    }
}

fn children(expr: &IdedExpr) -> Vec<&IdedExpr> {
    match &expr.expr {
        Expr::Call(call) => call
            .target
            .as_deref()
            .into_iter()
            .chain(&call.args)
            .collect(),
        Expr::Comprehension(macros) => {
            vec![
                &macros.iter_range,
                &macros.accu_init,
                &macros.loop_cond,
                &macros.loop_step,
                &macros.result,
            ]
        }
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => map
            .entries
            .iter()
            .flat_map(|entry| entry_parts(&entry.expr))
            .collect(),
        Expr::Select(select) => vec![&select.operand],
        Expr::Struct(expr) => expr
            .entries
            .iter()
            .flat_map(|entry| entry_parts(&entry.expr))
            .collect(),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => Vec::new(),
    }
}

fn entry_parts(entry: &EntryExpr) -> Vec<&IdedExpr> {
    match entry {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    }
}
