//! List values in arguments, rewritten for the validator. It considers two lists equal if one is a
//! prefix of the other, so that it would merge fields of one response key whose arguments differ.

use apollo_compiler::ast::{Argument, Definition, Document, Selection, Value};
use apollo_compiler::{Name, Node};

/// Returns the document with every list in a field's argument replaced by an object, because the
/// validator compares objects completely. `None` if all lists have the same length.
///
/// Of the errors that the validator finds in it, only conflicting arguments are meaningful.
pub(super) fn lists_to_objects(document: &Document) -> Option<Document> {
    let mut objects = document.clone();
    let mut lengths = Vec::new();
    for definition in &mut objects.definitions {
        match definition {
            Definition::OperationDefinition(operation) => {
                replace_in(&mut operation.make_mut().selection_set, &mut lengths);
            }
            Definition::FragmentDefinition(fragment) => {
                replace_in(&mut fragment.make_mut().selection_set, &mut lengths);
            }
            _ => {}
        }
    }
    lengths
        .windows(2)
        .any(|pair| pair[0] != pair[1])
        .then_some(objects)
}

fn replace_in(selections: &mut [Selection], lengths: &mut Vec<usize>) {
    for selection in selections {
        match selection {
            Selection::Field(field) => {
                let field = field.make_mut();
                field
                    .arguments
                    .iter_mut()
                    .for_each(|argument| replace(value_mut(argument), lengths));
                field
                    .selection_set
                    .iter_mut()
                    .for_each(|set| replace_in(set, lengths));
            }
            Selection::InlineFragment(inline) => {
                replace_in(&mut inline.make_mut().selection_set, lengths);
            }
            Selection::FragmentSpread(_) => {}
        }
    }
}

fn value_mut(argument: &mut Node<Argument>) -> &mut Node<Value> {
    &mut argument.make_mut().value
}

fn replace(value: &mut Node<Value>, lengths: &mut Vec<usize>) {
    match value.make_mut() {
        Value::List(items) => {
            lengths.push(items.len());
            for item in items.iter_mut() {
                replace(item, lengths);
            }
            // The reserved names, and `__0` even for an empty list, keep it different from every
            // object in the document.
            let own = std::iter::once(Node::new(Value::Null))
                .chain(items.drain(..))
                .enumerate();
            let fields = own
                .filter_map(|(at, item)| Some((Name::new(&format!("__{at}")).ok()?, item)))
                .collect();
            *value.make_mut() = Value::Object(fields);
        }
        Value::Object(fields) => fields
            .iter_mut()
            .for_each(|(_, field)| replace(field, lengths)),
        _ => {}
    }
}
