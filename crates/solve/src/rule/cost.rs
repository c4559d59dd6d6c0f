//! Bounds what evaluating a CEL rule costs: nothing interrupts an evaluation, so it is estimated before.

use cel::common::ast::{EntryExpr, Expr, IdedExpr};

/// Steps of a look-up of a pattern in a text.
const MATCH_STEPS: u64 = 100;

/// Steps of a pattern that repeats something, or that is not known before.
const REPEATED_MATCH_STEPS: u64 = 20_000;

/// An upper bound of an expression.
#[derive(Clone, Copy)]
struct Bound {
    /// Steps to evaluate it.
    steps: u64,
    /// Number of items, entries or bytes of its value.
    size: u64,
}

/// Sizes of the variables in scope, innermost last.
type Scope<'e> = Vec<(&'e str, u64)>;

/// Returns the depth of macros inside of one another.
pub(super) fn depth(rule: &IdedExpr) -> usize {
    let deepest = children(rule).into_iter().map(depth).max().unwrap_or(0);
    deepest + usize::from(matches!(rule.expr, Expr::Comprehension(_)))
}

/// Returns an upper bound of the steps for so many properties of so many bytes.
pub(super) fn steps(rule: &IdedExpr, properties: u64, bytes: u64) -> u64 {
    let mut scope = vec![("properties", properties)];
    bound(rule, &mut scope, bytes.max(1)).steps
}

fn bound<'e>(expr: &'e IdedExpr, scope: &mut Scope<'e>, bytes: u64) -> Bound {
    match &expr.expr {
        Expr::Ident(name) => {
            let size = scope.iter().rfind(|(variable, _)| variable == name).map_or(bytes, |(_, size)| *size);
            Bound { steps: 1, size }
        }
        Expr::Comprehension(macros) => {
            let range = bound(&macros.iter_range, scope, bytes);
            let depth = scope.len();
            let initial = bound(&macros.accu_init, scope, bytes);
            // What is collected grows by one item with each step; an item can be all of the properties.
            scope.push((&macros.accu_var, range.size.saturating_add(initial.size)));
            scope.push((&macros.iter_var, bytes));
            let step = bound(&macros.loop_step, scope, bytes);
            let condition = bound(&macros.loop_cond, scope, bytes);
            let result = bound(&macros.result, scope, bytes);
            scope.truncate(depth);
            let each = step.steps.saturating_add(condition.steps).max(1);
            let steps = range.size.saturating_mul(each).saturating_add(range.steps).saturating_add(result.steps);
            Bound { steps, size: result.size }
        }
        Expr::Call(call) => {
            let parts = children(expr).into_iter().map(|child| bound(child, scope, bytes)).fold(EMPTY, sum);
            let own = if call.func_name == "matches" { match_steps(call.args.last()) } else { 1 };
            let is_text = matches!(&*call.func_name, "string" | "bytes");
            let size = if is_text { parts.size.saturating_add(32) } else { parts.size };
            Bound { steps: parts.steps.saturating_add(own), size: call_size(&call.func_name, size, bytes) }
        }
        Expr::Select(_) => {
            let parts = children(expr).into_iter().map(|child| bound(child, scope, bytes)).fold(EMPTY, sum);
            Bound { steps: parts.steps.saturating_add(1), size: bytes }
        }
        _ => {
            let list = children(expr);
            let parts = list.iter().map(|child| bound(child, scope, bytes).steps);
            Bound { steps: parts.fold(1, u64::saturating_add), size: literal_size(expr, list.len()) }
        }
    }
}

const EMPTY: Bound = Bound { steps: 0, size: 0 };

fn sum(one: Bound, other: Bound) -> Bound {
    Bound { steps: one.steps.saturating_add(other.steps), size: one.size.saturating_add(other.size) }
}

/// Size of the result of a call: an item of a list can be as large as all properties.
fn call_size(name: &str, parts: u64, bytes: u64) -> u64 {
    match name {
        "_[_]" => parts.max(bytes),
        "_+_" | "_?_:_" | "string" | "bytes" | "dyn" => parts,
        _ => 1,
    }
}

fn literal_size(expr: &IdedExpr, items: usize) -> u64 {
    match &expr.expr {
        Expr::Literal(_) => super::MAX_RULE_BYTES as u64,
        _ => items as u64,
    }
}

/// Steps of a pattern, by whether its text is known and repeats nothing by number.
fn match_steps(pattern: Option<&IdedExpr>) -> u64 {
    use cel::common::ast::LiteralValue;
    match pattern.map(|pattern| &pattern.expr) {
        Some(Expr::Literal(LiteralValue::String(text))) if !text.inner().contains('{') => MATCH_STEPS,
        _ => REPEATED_MATCH_STEPS,
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
