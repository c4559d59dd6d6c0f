//! Lists in arguments, for the validator: it takes lists for equal when one begins as the other, so that fields of one
//! response key would merge though their arguments differ.

use apollo_compiler::ast::{Argument, Definition, Document, Selection, Value};
use apollo_compiler::{Name, Node};

/// The document with an object for each list in an argument of a field, since the validator compares objects whole;
/// nothing when all lists are of one length. What is said of it counts only as far as it compares arguments.
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
    lengths.windows(2).any(|pair| pair[0] != pair[1]).then_some(objects)
}

fn replace_in(selections: &mut [Selection], lengths: &mut Vec<usize>) {
    for selection in selections {
        match selection {
            Selection::Field(field) => {
                let field = field.make_mut();
                field.arguments.iter_mut().for_each(|argument| replace(value_mut(argument), lengths));
                field.selection_set.iter_mut().for_each(|set| replace_in(set, lengths));
            }
            Selection::InlineFragment(inline) => replace_in(&mut inline.make_mut().selection_set, lengths),
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
            // No object that is written has such a key, not even one without any.
            let own = std::iter::once(Node::new(Value::Null)).chain(items.drain(..)).enumerate();
            let fields = own.filter_map(|(at, item)| Some((Name::new(&format!("__{at}")).ok()?, item))).collect();
            *value.make_mut() = Value::Object(fields);
        }
        Value::Object(fields) => fields.iter_mut().for_each(|(_, field)| replace(field, lengths)),
        _ => {}
    }
}
