//! `Catalog.mirrorSet`: the part of a catalog that a disconnected cluster needs.

use fbc::Bundle;
use fbc::work::Step;
use mirror::imageset::image_set;
use mirror::output::{MirrorOutputError, MirrorTarget, mapping, mirror_sets, skopeo};
use mirror::{
    MirrorConfiguration, MirrorProblem, MirrorReason, MirrorRules, MirrorSet, MirroredBundle,
    MirroredChannel, MirroredImage, MirroredPackage, PlannedImage, images, select,
};
use serving::Served;

use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::fields::{
    MirrorCountsField, MirrorFileField, MirrorProblemField, MirrorReasonField, MirrorSetField,
    MirroredBundleField, MirroredChannelField, MirroredImageField, MirroredPackageField,
};
use crate::input::{self, MirrorRulesInput, MirrorSetInput};

/// Bytes that a byte of a configuration is charged as: it is decoded to values that are allocated,
/// and may be of a pattern that is compiled.
const CONFIGURATION_PRICE: usize = 40;

/// Words that a pattern is charged as: it is compiled.
const PATTERN_PRICE: usize = 100;

/// Words that an image is charged as in a file for another tool.
const RENDERED_IMAGE_PRICE: usize = 4;

/// A mirror set with what it was made of.
#[derive(Clone, Copy)]
struct SetObject<'r, 'a> {
    served: &'a Served,
    configuration: &'r MirrorConfiguration,
    rules: MirrorRules,
    set: &'r MirrorSet<'a>,
    images: &'r [MirroredImage<'a>],
}

/// The type `MirrorCounts`.
#[derive(Clone, Copy)]
struct SetCounts<'r, 'a> {
    packages: &'r [MirroredPackage<'a>],
    images: usize,
}

/// The type `MirrorFile`: a text, or why there is none.
struct FileText(Result<String, String>);

/// Renders images as a file of another tool.
type ImageRenderer = fn(&[PlannedImage], &MirrorTarget) -> Result<String, MirrorOutputError>;

impl<'a> ResponseWriter<'a> {
    /// `Catalog.mirrorSet`.
    pub(super) fn mirror_set(
        &mut self,
        served: &'a Served,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let argument = arguments(field).get("input");
        let input: MirrorSetInput<'_> = input::read(argument).expect("the argument is required");
        let rules = match input.rules {
            MirrorRulesInput::Catalogql => MirrorRules::Catalogql,
            MirrorRulesInput::OcMirror => MirrorRules::OcMirror,
        };
        let read = if let Some(text) = input.configuration {
            let has_packages = input.packages.is_some() || input.blocked_images.is_some();
            if has_packages || input.full {
                let message = "`configuration` excludes `packages`, `full` and `blockedImages`";
                return self.bad_user_input(field, message.to_owned());
            }
            let bytes = text.len().saturating_mul(CONFIGURATION_PRICE);
            self.work.draw(Step::ParsedByte, bytes)?;
            MirrorConfiguration::parse(text)
        } else {
            let packages = input.packages.as_ref().map_or(0, Vec::len);
            let patterns = input.blocked_images.as_ref().map_or(0, Vec::len);
            self.work.draw(Step::Word, packages)?;
            self.work
                .draw(Step::Word, patterns.saturating_mul(PATTERN_PRICE))?;
            MirrorConfiguration::from_request(reference(served), argument)
        };
        let mut configuration = match read {
            Ok(configuration) => configuration,
            Err(problems) => {
                let set = MirrorSet {
                    packages: Vec::new(),
                    problems,
                };
                let object = SetObject {
                    served,
                    configuration: &MirrorConfiguration::default(),
                    rules,
                    set: &set,
                    images: &[],
                };
                return self.object(object, field);
            }
        };
        let count = configuration.operators.len();
        let operator = usize::try_from(input.operator).ok();
        let Some(operator) = operator.filter(|&at| at < count) else {
            let message = format!(
                "`operator` is {}, but the configuration has {count} items of `mirror.operators`, counted from 0",
                input.operator
            );
            return self.bad_user_input(field, message);
        };
        let selection = configuration.operators.swap_remove(operator);
        configuration.operators = vec![selection];

        let catalog = &*served.content.catalog;
        let selection = &configuration.operators[0];
        let mut set = select(catalog, selection, rules, self.work)?;
        let images = images(&mut set, selection, &configuration, rules, self.work)?;
        if rules == MirrorRules::Catalogql {
            set.problems.extend(configuration.notices.iter().cloned());
        }
        let object = SetObject {
            served,
            configuration: &configuration,
            rules,
            set: &set,
            images: &images,
        };
        self.object(object, field)
    }

    /// Writes a text for another tool.
    fn mirror_file(
        &mut self,
        text: Result<String, String>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        self.object(&FileText(text), field)
    }
}

/// Returns the reference of a catalog: its image by digest, or else its name.
fn reference(served: &Served) -> &str {
    served.content.image.as_deref().unwrap_or(&served.name)
}

impl<'a> SetObject<'_, 'a> {
    /// Writes the images as a file of another tool.
    fn write_file(
        self,
        render: ImageRenderer,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let words = self.images.len().saturating_mul(RENDERED_IMAGE_PRICE);
        writer.work.draw(Step::Word, words)?;
        writer.mirror_file(self.render(render, field), field)
    }

    /// Renders the images, for the target in the arguments of a field.
    fn render(self, render: ImageRenderer, field: &PlannedField<'_>) -> Result<String, String> {
        let to = arguments(field).string("to").unwrap_or_default();
        let nested = arguments(field).integer("maxNestedPaths");
        let nested = nested.map(|count| usize::try_from(count).unwrap_or_default());
        let target = MirrorTarget::parse(to, nested).map_err(|error| error.to_string())?;
        let planned: Vec<_> = self.images.iter().map(PlannedImage::from).collect();
        render(&planned, &target).map_err(|error| error.to_string())
    }
}

impl<'a> Object<'a> for SetObject<'_, 'a> {
    type Field = MirrorSetField;

    fn write(
        self,
        name: MirrorSetField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let Self { served, set, .. } = self;
        match name {
            MirrorSetField::IsRefused => {
                writer.boolean(set.is_refused());
                Ok(())
            }
            MirrorSetField::Packages => {
                let packages = set.packages.iter();
                writer.object_list(packages.map(|item| InCatalog { served, item }), field)
            }
            MirrorSetField::Bundles => {
                let bundles = set.packages.iter().flat_map(|package| &package.bundles);
                writer.object_list(bundles.map(|item| InCatalog { served, item }), field)
            }
            MirrorSetField::Images => {
                let images = self.images.iter();
                writer.object_list(images.map(|item| InCatalog { served, item }), field)
            }
            MirrorSetField::Problems => writer.object_list(&set.problems, field),
            MirrorSetField::Counts => {
                let counts = SetCounts {
                    packages: &set.packages,
                    images: self.images.len(),
                };
                writer.object(counts, field)
            }
            MirrorSetField::ImageSetConfiguration => {
                let Some(selection) = self.configuration.operators.first() else {
                    let message = "the configuration is refused".to_owned();
                    return writer.mirror_file(Err(message), field);
                };
                let image = served.content.image.as_deref();
                let reference = image.unwrap_or(&selection.catalog).to_owned();
                let items = [(selection, &*served.content.catalog, reference)];
                let text = image_set(self.configuration, &items, self.rules, writer.work)?;
                writer.mirror_file(text.map_err(|error| error.to_string()), field)
            }
            MirrorSetField::Mapping => self.write_file(mapping, field, writer),
            MirrorSetField::Skopeo => self.write_file(skopeo, field, writer),
            MirrorSetField::ImageMirrorSets => self.write_file(mirror_sets, field, writer),
        }
    }
}

impl<'a> Object<'a> for InCatalog<'a, &MirroredPackage<'a>> {
    type Field = MirroredPackageField;

    fn write(
        self,
        name: MirroredPackageField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let package = self.item;
        match name {
            MirroredPackageField::Package => {
                return writer.object(self.with(package.package), field);
            }
            MirroredPackageField::DefaultChannelName => writer.string(&package.default_channel),
            MirroredPackageField::Channels => {
                return writer.object_list(&package.channels, field);
            }
            MirroredPackageField::Deprecations => {
                let deprecations = package.deprecations.iter().map(ToString::to_string);
                let deprecations: Vec<_> = deprecations.collect();
                writer.strings(deprecations.iter().map(String::as_str));
            }
        }
        Ok(())
    }
}

impl<'a> Object<'a> for &MirroredChannel<'a> {
    type Field = MirroredChannelField;

    fn write(
        self,
        name: MirroredChannelField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            MirroredChannelField::Name => writer.string(self.channel.name()),
            MirroredChannelField::EntryNames => {
                writer.strings(self.entries.iter().map(|entry| entry.name()));
            }
        }
        Ok(())
    }
}

impl<'a> Object<'a> for InCatalog<'a, &MirroredBundle<'a>> {
    type Field = MirroredBundleField;

    fn write(
        self,
        name: MirroredBundleField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            MirroredBundleField::Bundle => writer.object(self.with(self.item.bundle), field),
            MirroredBundleField::Reasons => writer.object_list(&self.item.reasons, field),
            MirroredBundleField::IsListed => {
                writer.boolean(self.item.is_listed);
                Ok(())
            }
        }
    }
}

impl<'a> Object<'a> for &MirrorReason<'a> {
    type Field = MirrorReasonField;

    fn write(
        self,
        name: MirrorReasonField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            MirrorReasonField::Kind => writer.static_string(self.kind.as_str()),
            MirrorReasonField::ChannelName => writer.optional_string(self.channel),
            MirrorReasonField::RequiredByName => writer.optional_string(self.required_by),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for InCatalog<'a, &MirroredImage<'a>> {
    type Field = MirroredImageField;

    fn write(
        self,
        name: MirroredImageField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let image = self.item;
        match name {
            MirroredImageField::Reference => writer.string(&image.reference),
            MirroredImageField::Kind => writer.static_string(image.kind.as_str()),
            MirroredImageField::Digest => writer.optional_string(image.digest()),
            MirroredImageField::ByTag => writer.boolean(image.digest().is_none()),
            MirroredImageField::UsedBy => {
                let bundles = image.used_by.iter();
                let bundles = bundles.map(|&bundle: &Bundle<'a>| self.with(bundle));
                return writer.object_list(bundles, field);
            }
        }
        Ok(())
    }
}

impl<'a> Object<'a> for SetCounts<'_, 'a> {
    type Field = MirrorCountsField;

    fn write(
        self,
        name: MirrorCountsField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let packages = self.packages.iter();
        writer.count(match name {
            MirrorCountsField::Packages => packages.len(),
            MirrorCountsField::Channels => packages.map(|package| package.channels.len()).sum(),
            MirrorCountsField::Bundles => packages.map(|package| package.bundles.len()).sum(),
            MirrorCountsField::Images => self.images,
        });
        Ok(())
    }
}

impl<'a> Object<'a> for &FileText {
    type Field = MirrorFileField;

    fn write(
        self,
        name: MirrorFileField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let FileText(text) = self;
        writer.optional_string(match name {
            MirrorFileField::Text => text.as_ref().ok().map(String::as_str),
            MirrorFileField::Message => text.as_ref().err().map(String::as_str),
        });
        Ok(())
    }
}

impl<'a> Object<'a> for &MirrorProblem {
    type Field = MirrorProblemField;

    fn write(
        self,
        name: MirrorProblemField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            MirrorProblemField::Code => writer.static_string(self.code.as_str()),
            MirrorProblemField::Severity => writer.static_string(self.code.severity().as_str()),
            MirrorProblemField::Path => writer.string(&self.path),
            MirrorProblemField::Line => match self.line {
                Some(line) => writer.count(usize::try_from(line).unwrap_or(usize::MAX)),
                None => writer.null(),
            },
            MirrorProblemField::Message => writer.string(&self.message),
            MirrorProblemField::LikeOcMirror => writer.optional_string(self.like_oc_mirror),
        }
        Ok(())
    }
}
