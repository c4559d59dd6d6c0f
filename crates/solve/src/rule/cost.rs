//! Bounds what evaluating a CEL rule costs: nothing interrupts an evaluation, so it is estimated before.

use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue};

/// Steps to compile a pattern, which each look-up does.
const PATTERN_STEPS: u64 = 1_000;

/// Steps to look for a pattern of [`super::MAX_PATTERN_BYTES`] in a block of text.
const PATTERN_BLOCK_STEPS: u64 = 2_500;

/// Number of bytes of a text that are looked at in one step.
pub(super) const BLOCK_BYTES: u64 = 256;

/// How large a value is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    /// Number of items or entries.
    pub(super) items: u64,
    /// Weight of the largest one.
    pub(super) largest: u64,
    /// Steps to look at all of it: one for each value in it, whatever its depth, and for each block of its texts.
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

/// Returns an upper bound of the steps, by the size of the properties.
pub(super) fn steps(rule: &IdedExpr, properties: Size) -> u64 {
    bound(rule, &mut vec![("properties", properties)]).steps
}

impl Size {
    /// A value without parts, and its blocks of text.
    pub(super) fn of_text(bytes: usize) -> Self {
        Self::of_any(1 + bytes as u64 / BLOCK_BYTES)
    }

    /// Whatever weighs so much.
    fn of_any(weight: u64) -> Self {
        Self { items: weight, largest: weight, weight }
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
    let parts: Vec<Bound> = children(expr).into_iter().map(|child| bound(child, scope)).collect();
    let steps = parts.iter().map(|part| part.steps).fold(0, u64::saturating_add);
    let sizes: Vec<Size> = parts.iter().map(|part| part.size).collect();
    let (own, size) = match &expr.expr {
        Expr::Ident(name) => {
            let variable = scope.iter().rfind(|(variable, _)| variable == name);
            (1, variable.map_or(Size::of_any(1), |(_, size)| *size))
        }
        Expr::Call(call) => (call_steps(&call.func_name, &sizes), call_size(&call.func_name, &sizes)),
        Expr::Select(_) => (1, Size::of_any(sizes[0].weight)),
        Expr::Literal(literal) => (1, literal_size(literal)),
        _ => (1 + sizes.len() as u64, Size::of_items(&sizes)),
    };
    Bound { steps: steps.saturating_add(own), size }
}

/// Bounds a macro, whose result grows by the same with each item.
fn bound_macro<'e>(expr: &'e IdedExpr, scope: &mut Scope<'e>) -> Bound {
    let Expr::Comprehension(body) = &expr.expr else { unreachable!("the expression is a macro") };
    let range = bound(&body.iter_range, scope);
    let initial = bound(&body.accu_init, scope);
    let depth = scope.len();
    scope.push((&body.accu_var, initial.size));
    scope.push((&body.iter_var, Size::of_any(range.size.largest)));
    let first = bound(&body.loop_step, scope).size;
    let grown = |initial: u64, first: u64| {
        initial.saturating_add(first.saturating_sub(initial).saturating_mul(range.size.items))
    };
    scope[depth].1 = Size {
        items: grown(initial.size.items, first.items),
        largest: first.largest,
        weight: grown(initial.size.weight, first.weight),
    };
    let [step, condition, result] = [&body.loop_step, &body.loop_cond, &body.result].map(|part| bound(part, scope));
    scope.truncate(depth);
    let each = step.steps.saturating_add(condition.steps);
    let once = [range.steps, initial.steps, result.steps].into_iter().fold(0, u64::saturating_add);
    Bound { steps: range.size.items.saturating_mul(each).saturating_add(once), size: result.size }
}

/// Steps of a call itself, by the sizes of what it is called with.
fn call_steps(name: &str, sizes: &[Size]) -> u64 {
    let weights = sizes.iter().map(|size| size.weight);
    let look = match name {
        "_&&_" | "_||_" | "!_" | "_?_:_" => 0,
        "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_" => weights.min().unwrap_or(0),
        "@in" => weights.max().unwrap_or(0),
        "_[_]" => sizes.last().map_or(0, |key| key.weight),
        // What is copied are the items, not what they share.
        "_+_" => sizes.iter().map(|size| size.items).fold(0, u64::saturating_add) / 16,
        "matches" => {
            let blocks = sizes.first().map_or(0, |text| text.weight);
            PATTERN_STEPS.saturating_add(blocks.saturating_mul(PATTERN_BLOCK_STEPS))
        }
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
        Expr::Call(call) => call.target.as_deref().into_iter().chain(&call.args).collect(),
        Expr::Comprehension(macros) => {
            vec![&macros.iter_range, &macros.accu_init, &macros.loop_cond, &macros.loop_step, &macros.result]
        }
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => map.entries.iter().flat_map(|entry| entry_parts(&entry.expr)).collect(),
        Expr::Select(select) => vec![&select.operand],
        Expr::Struct(expr) => expr.entries.iter().flat_map(|entry| entry_parts(&entry.expr)).collect(),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => Vec::new(),
    }
}

fn entry_parts(entry: &EntryExpr) -> Vec<&IdedExpr> {
    match entry {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    }
}
