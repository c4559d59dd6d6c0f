//! Upper bounds of the cost of evaluating CEL rules. An evaluation cannot be interrupted, so that its
//! cost is bounded before it begins.
//!
//! The interpreter makes deep copies: of items that a macro binds to its variable, of the elements of
//! list and map literals, and of the operands of `+`. A step looks at or copies at most one value, so
//! that steps bound memory too.

use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue};

/// Steps to match a pattern of [`super::MAX_PATTERN_BYTES`] against a block of text.
const PATTERN_BLOCK_STEPS: u64 = 2_500;

/// Number of subexpressions whose bounds are computed in the time of one step.
const BOUNDS_OF_STEP: u64 = 4;

/// Number of bytes of a string that are processed in one step.
pub(super) const BLOCK_BYTES: u64 = 256;

/// Size of a value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    /// Number of items or entries.
    pub(super) items: u64,
    /// Weight of the largest item or entry.
    pub(super) largest: u64,
    /// Steps to look at or copy all of it: one for each value in it at any depth, and one for each
    /// block of its strings.
    pub(super) weight: u64,
}

/// An upper bound of an expression.
#[derive(Clone, Copy)]
struct Bound {
    /// Steps to evaluate it.
    steps: u64,
    /// Size of its value.
    size: Size,
}

/// Sizes of the variables in scope, innermost last.
type Scope<'e> = Vec<(&'e str, Size)>;

/// Returns the depth of nested macros.
pub(super) fn depth(rule: &IdedExpr) -> usize {
    let deepest = children(rule).into_iter().map(depth).max().unwrap_or(0);
    deepest + usize::from(matches!(rule.expr, Expr::Comprehension(_)))
}

/// Returns the patterns of `matches`; `None` stands for one that is not a literal.
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

/// Returns the steps of parsing a rule. The parser's time per byte grows with the length of the rule.
pub(super) fn parse_steps(rule: &str) -> u64 {
    let bytes = rule.len() as u64;
    bytes * (6 + bytes / 150)
}

/// Returns the steps of computing [`steps`].
pub(super) fn bound_steps(rule: &IdedExpr) -> u64 {
    bounded_parts(rule).div_ceil(BOUNDS_OF_STEP)
}

/// Returns the number of calls of [`bound`]. It is called twice for the body of a macro.
fn bounded_parts(rule: &IdedExpr) -> u64 {
    let repeated = match &rule.expr {
        Expr::Comprehension(body) => bounded_parts(&body.loop_step),
        _ => 0,
    };
    children(rule).into_iter().map(bounded_parts).sum::<u64>() + repeated + 1
}

/// Returns an upper bound of the steps of an evaluation, for properties of this size.
pub(super) fn steps(rule: &IdedExpr, properties: Size) -> u64 {
    bound(rule, &mut vec![("properties", properties)]).steps
}

/// Returns the steps of compiling a pattern. Each call of `matches` compiles it.
pub(super) fn pattern_steps(pattern: &str) -> u64 {
    let per_byte = if folds_ranges(pattern) { 6_000 } else { 20 };
    let once = if has_escapes(pattern) || dots(pattern) > 0 {
        1_000
    } else {
        200
    };
    once + per_byte * pattern.len() as u64
}

/// Returns the steps of matching a pattern against a block of text. They depend on the number of
/// states that it compiles to.
fn pattern_block_steps(pattern: &str) -> u64 {
    if has_escapes(pattern) || pattern.contains('{') {
        return PATTERN_BLOCK_STEPS;
    }
    PATTERN_BLOCK_STEPS.min(20 * (1 + pattern.len() as u64) + 200 * dots(pattern))
}

/// Returns whether a pattern may have classes with ranges all over Unicode, such as `\w` and `\pL`.
fn has_escapes(pattern: &str) -> bool {
    let mut bytes = pattern.bytes();
    !pattern.is_ascii()
        || std::iter::from_fn(|| bytes.find(|&byte| byte == b'\\').map(|_| bytes.next()))
            .any(|escaped| escaped.is_none_or(|byte| byte.is_ascii_alphanumeric()))
}

/// Returns the number of classes of almost all characters: `.` and `[^x]`.
fn dots(pattern: &str) -> u64 {
    (pattern.matches('.').count() - pattern.matches("\\.").count() + pattern.matches("[^").count())
        as u64
}

/// Returns whether compiling a pattern may fold the case of each character of a large class, such as
/// `(?i)[^\D]`. It takes milliseconds for each class.
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
    /// Returns the size of a string of this many bytes.
    pub(super) fn from_text(bytes: usize) -> Self {
        Self::from_weight(1 + bytes as u64 / BLOCK_BYTES)
    }

    /// Returns the largest size with this weight.
    fn from_weight(weight: u64) -> Self {
        Self {
            items: weight,
            largest: weight,
            weight,
        }
    }

    /// Returns the size of the concatenation of two values.
    fn and(self, other: Self) -> Self {
        Self {
            items: self.items.saturating_add(other.items),
            largest: self.largest.max(other.largest),
            weight: self.weight.saturating_add(other.weight),
        }
    }

    /// Returns a size that bounds both values.
    fn or(self, other: Self) -> Self {
        Self {
            items: self.items.max(other.items),
            largest: self.largest.max(other.largest),
            weight: self.weight.max(other.weight),
        }
    }

    /// Returns the size of a list or map with these parts.
    fn from_items(parts: &[Self]) -> Self {
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
            (1, variable.map_or(Size::from_weight(1), |(_, size)| *size))
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
                    size: Size::from_weight(1),
                };
            }
            // Appending to the result of a macro copies the appended value alone.
            let is_append = call.func_name == "_+_" && is_result(&call.args[0]);
            let copied = &sizes[usize::from(is_append)..];
            (
                call_steps(&call.func_name, copied),
                call_size(&call.func_name, &sizes),
            )
        }
        Expr::Select(_) => (1, Size::from_weight(sizes[0].weight)),
        Expr::Literal(literal) => (1, literal_size(literal)),
        // The elements are copied into the list or map.
        _ => (Size::from_items(&sizes).weight, Size::from_items(&sizes)),
    };
    Bound {
        steps: steps.saturating_add(own),
        size,
    }
}

/// Returns whether an expression is the accumulator of a macro, whose name no rule can contain.
fn is_result(expr: &IdedExpr) -> bool {
    matches!(&expr.expr, Expr::Ident(name) if name.starts_with('@'))
}

/// Bounds a macro. Its result grows by the same size with each item.
fn bound_macro<'e>(expr: &'e IdedExpr, scope: &mut Scope<'e>) -> Bound {
    let Expr::Comprehension(body) = &expr.expr else {
        unreachable!("the expression is a macro")
    };
    // The body is bounded twice: once for the growth of the result with the first item, and once with
    // the size that the result has in the end.
    let range = bound(&body.iter_range, scope);
    let initial = bound(&body.accu_init, scope);
    let depth = scope.len();
    scope.push((&body.accu_var, initial.size));
    scope.push((&body.iter_var, Size::from_weight(range.size.largest)));
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

/// Returns the steps of a call without those of its arguments, by their sizes.
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

/// Returns the size of the result of a call.
fn call_size(name: &str, sizes: &[Size]) -> Size {
    match (name, sizes) {
        ("_[_]", [container, _]) => Size::from_weight(container.largest),
        ("_+_", [one, other]) => one.and(*other),
        ("_?_:_", [_, one, other]) => one.or(*other),
        ("string" | "bytes" | "dyn", [one]) => one.and(Size::from_weight(1)),
        _ => Size::from_weight(1),
    }
}

fn literal_size(literal: &LiteralValue) -> Size {
    match literal {
        LiteralValue::String(text) => Size::from_text(text.inner().len()),
        LiteralValue::Bytes(bytes) => Size::from_text(bytes.inner().len()),
        _ => Size::from_weight(1),
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
