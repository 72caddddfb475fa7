//! Types that JavaScript declares in comments: `@param`, `@returns`, `@type`, `@typedef`, `@callback`, `@import`.
//!
//! The types are read by the parser of TypeScript, so that whatever an annotation can say, a comment can. Only comments
//! that name a module, or something that the file declares, are looked into: `{string}` names no client.

use std::collections::HashMap;

use oxc_allocator::Allocator;
use oxc_ast::ast::{ImportDeclarationSpecifier, Program, Statement};
use oxc_parser::Parser;
use oxc_span::{SourceType, Span};

use super::facts::{BindingId, ExportFact, ExportValue, FunctionId, Name, Origin, Type, TypeId};
use super::lower::Lower;

/// Longest type that is read, in bytes.
const LONGEST: usize = 1_000;
/// Tags of one comment.
const MOST_TAGS: usize = 64;

/// The comments of a file that may declare types.
pub(super) struct Docs<'a> {
    allocator: &'a Allocator,
    /// By the start of the token that each stands before.
    before: HashMap<u32, (Span, &'a str)>,
    /// In source order.
    all: Vec<(Span, &'a str)>,
    /// Names that comments declare.
    names: HashMap<&'a str, Option<BindingId>>,
}

/// `@name {type} subject`
#[derive(Debug, Clone, PartialEq, Eq)]
struct Tag<'t> {
    name: &'t str,
    ty: Option<String>,
    subject: &'t str,
    /// Everything behind the name.
    rest: &'t str,
}

impl<'a> Docs<'a> {
    /// Collects the comments; `None` where there is none, as in almost every file.
    pub(super) fn of(program: &Program<'a>, allocator: &'a Allocator) -> Option<Self> {
        let mut docs = Self { allocator, before: HashMap::new(), all: Vec::new(), names: HashMap::new() };
        for comment in program.comments.iter().filter(|comment| comment.is_block() && comment.is_leading()) {
            let span = comment.content_span();
            let Some(text) = program.source_text.get(span.start as usize..span.end as usize) else { continue };
            let declares = text.starts_with('*')
                && (text.contains("@import")
                    || (text.contains('{') && text.contains('@'))
                    || text.contains("@callback"));
            if declares {
                docs.before.insert(comment.attached_to, (comment.span, text));
                docs.all.push((comment.span, text));
            }
        }
        (!docs.all.is_empty()).then_some(docs)
    }
}

impl<'a> Lower<'_, 'a> {
    /// The comment that stands before a token.
    pub(super) fn doc_before(&self, start: u32) -> Option<(Span, &'a str)> {
        self.docs.as_ref()?.before.get(&start).copied()
    }

    /// Makes names of what comments declare, and exports them, since every module can import them.
    pub(super) fn documented_names(&mut self) {
        let Some(docs) = &self.docs else { return };
        let mut declared = Vec::new();
        for (span, text) in docs.all.clone() {
            let tags = tags(text);
            for (at, tag) in tags.iter().enumerate() {
                match tag.name {
                    "typedef" | "callback" if is_name(tag.subject) => {
                        declared.push((span, tag.subject, tag.clone(), tags[at + 1..].to_vec()));
                    }
                    "import" => self.documented_import(span, tag),
                    _ => {}
                }
            }
        }
        // They may name each other, whatever their order.
        let mut made = Vec::new();
        for (span, subject, tag, members) in declared {
            if self.root_binding(subject).is_some() {
                continue;
            }
            let binding = self.documented_name(subject, span);
            made.push((span, binding, tag, members));
        }
        for (span, binding, tag, members) in made {
            let ty = if tag.name == "callback" {
                self.signature_of_tags(span, &members)
            } else {
                let own = tag.ty.as_deref().and_then(|text| self.documented_type(span, text));
                own.or_else(|| self.object_of_tags(span, &members, "property", ""))
            };
            let Some(ty) = ty else { continue };
            let binding_name = self.out.bindings[binding as usize].name;
            self.out.bindings[binding as usize].origin = Origin::Type(ty);
            if !self.out.exports.iter().any(|export| export.name == binding_name) {
                let value = ExportValue::Binding(binding);
                self.out.exports.push(ExportFact {
                    name: binding_name,
                    local: Some(binding_name),
                    value,
                    internal: false,
                });
            }
        }
    }

    fn documented_name(&mut self, name: &'a str, span: Span) -> BindingId {
        let text = self.name(name);
        let line = self.positions.line(span.start);
        let binding = self.add_binding(text, line);
        if let Some(docs) = &mut self.docs {
            docs.names.insert(name, Some(binding));
        }
        binding
    }

    /// `@import { Context } from "probot"`
    fn documented_import(&mut self, span: Span, tag: &Tag<'a>) {
        let line = tag.rest.lines().next().unwrap_or_default();
        let Some(source) = self.parsed_apart(&format!("import {};", line.trim())) else { return };
        for statement in &source.body {
            let Statement::ImportDeclaration(it) = statement else { continue };
            let specifier = self.name(&it.source.value);
            for import in it.specifiers.iter().flatten() {
                let (local, name) = match import {
                    ImportDeclarationSpecifier::ImportSpecifier(it) => (&it.local, self.name(&it.imported.name())),
                    ImportDeclarationSpecifier::ImportDefaultSpecifier(it) => (&it.local, self.name("default")),
                    ImportDeclarationSpecifier::ImportNamespaceSpecifier(it) => (&it.local, self.name("*")),
                };
                let binding = self.documented_name(local.name.as_str(), span);
                self.out.bindings[binding as usize].origin = Origin::Import { specifier, name };
                self.import_of_type(specifier, Some(name), span);
            }
        }
    }

    /// The name that a comment declares.
    pub(super) fn documented_binding(&self, name: &str) -> Option<BindingId> {
        self.docs.as_ref()?.names.get(name).copied().flatten()
    }

    /// The type of a `@type` or `@satisfies`.
    pub(super) fn type_of_doc(&mut self, doc: Option<(Span, &'a str)>) -> Option<TypeId> {
        let (span, text) = doc?;
        let tag = tags(text).into_iter().find(|tag| matches!(tag.name, "type" | "satisfies"))?;
        self.documented_type(span, tag.ty.as_deref()?)
    }

    /// Gives a function the types that a comment gives its parameters and result. False where the comment is about
    /// something else.
    pub(super) fn document_function(
        &mut self,
        function: FunctionId,
        names: &[Option<&str>],
        (span, text): (Span, &'a str),
    ) -> bool {
        let tags = tags(text);
        let parameters: Vec<&Tag<'a>> = tags.iter().filter(|tag| is_parameter(tag)).collect();
        let top: Vec<&&Tag<'a>> = parameters.iter().filter(|tag| !tag.subject.contains('.')).collect();
        let returns = tags.iter().find(|tag| matches!(tag.name, "returns" | "return"));
        let is_about = match top.as_slice() {
            [] => returns.is_some() && parameters.is_empty(),
            top => names.iter().zip(0..).any(|(name, at)| match name {
                Some(name) => top.iter().any(|tag| tag.subject == *name),
                None => top.get(at).is_some(),
            }),
        };
        if !is_about {
            return false;
        }
        for (at, name) in names.iter().enumerate() {
            let tag = match name {
                Some(name) => top.iter().find(|tag| tag.subject == *name),
                // A pattern has no name: the tag in its place.
                None => top.get(at),
            };
            let Some(tag) = tag else { continue };
            let own = tag.ty.as_deref().and_then(|text| self.documented_type(span, text));
            let ty = own.or_else(|| self.object_of_tags(span, &tags, "param", tag.subject));
            if let Some(parameter) = self.out.functions[function as usize].parameters.get_mut(at) {
                parameter.ty = parameter.ty.or(ty);
            }
        }
        if let Some(text) = returns.and_then(|tag| tag.ty.as_deref()) {
            let ty = self.documented_type(span, text);
            let known = &mut self.out.functions[function as usize].return_type;
            *known = known.or(ty);
        }
        true
    }

    fn signature_of_tags(&mut self, span: Span, tags: &[Tag<'a>]) -> Option<TypeId> {
        let mut types = Vec::new();
        for tag in tags.iter().filter(|tag| is_parameter(tag) && !tag.subject.contains('.')) {
            types.push(tag.ty.as_deref().and_then(|text| self.documented_type(span, text)));
        }
        let returns = tags.iter().find(|tag| matches!(tag.name, "returns" | "return"));
        let returns = returns.and_then(|tag| tag.ty.as_deref()).and_then(|text| self.documented_type(span, text));
        if types.iter().all(Option::is_none) && returns.is_none() {
            return None;
        }
        let types = types.into_iter().map(|ty| ty.unwrap_or_else(|| self.add_type(Type::Unknown))).collect();
        let returns = returns.unwrap_or_else(|| self.add_type(Type::Unknown));
        Some(self.add_type(Type::Function(types, returns)))
    }

    /// An object of which each member has a tag of its own (`@param {Stripe} options.stripe`).
    fn object_of_tags(&mut self, span: Span, tags: &[Tag<'a>], kind: &str, owner: &str) -> Option<TypeId> {
        let mut members: Vec<(Name, TypeId)> = Vec::new();
        for tag in tags {
            let is_of_kind = if kind == "param" { is_parameter(tag) } else { matches!(tag.name, "property" | "prop") };
            let name = if owner.is_empty() { Some(tag.subject) } else { behind(tag.subject, owner) };
            let Some(name) = name.filter(|name| is_of_kind && is_name(name)) else { continue };
            if let Some(ty) = tag.ty.as_deref().and_then(|text| self.documented_type(span, text)) {
                members.push((self.name(name), ty));
            }
        }
        (!members.is_empty()).then(|| self.add_type(Type::Object(members, Vec::new())))
    }

    /// A type that a comment writes down; `None` where it is of no interest.
    fn documented_type(&mut self, span: Span, text: &str) -> Option<TypeId> {
        // `?Stripe`, `!Stripe`, `Stripe=`, `...Stripe` and `Object.<string, Stripe>` are older ways to write it.
        let text = text.trim().trim_start_matches(['?', '!', '.']).trim_end_matches('=').replace(".<", "<");
        if text.len() > LONGEST || !self.names_something(&text) {
            return None;
        }
        let source = self.parsed_apart(&format!("type T = {text};"))?;
        let Some(Statement::TSTypeAliasDeclaration(alias)) = source.body.first() else { return None };
        let outer = self.apart.replace(span);
        let ty = self.type_of(&alias.type_annotation);
        self.apart = outer;
        ty
    }

    /// Whether a type may lead anywhere: it imports, or names what the file declares.
    fn names_something(&self, text: &str) -> bool {
        text.contains("import(")
            || text
                .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))
                .any(|word| self.documented_binding(word).is_some() || self.root_binding(word).is_some())
    }

    fn parsed_apart(&self, source: &str) -> Option<Program<'a>> {
        let allocator = self.docs.as_ref()?.allocator;
        let source = allocator.alloc_str(source);
        let parsed = Parser::new(allocator, source, SourceType::ts()).parse();
        (!parsed.panicked && parsed.diagnostics.is_empty()).then_some(parsed.program)
    }
}

/// The tags of a comment, in order.
fn tags(text: &str) -> Vec<Tag<'_>> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('@') {
        let starts = rest[..at].trim_end_matches([' ', '\t', '*']).chars().next_back().is_none_or(|c| c == '\n');
        rest = &rest[at + 1..];
        if !starts {
            continue;
        }
        if out.len() == MOST_TAGS {
            break;
        }
        let name = word(rest);
        let all = &rest[name.len()..];
        let mut behind = all.trim_start();
        let mut ty = None;
        if behind.starts_with('{') && name != "import" {
            let Some(end) = closing(behind) else { continue };
            ty = Some(without_stars(&behind[1..end]));
            behind = behind[end + 1..].trim_start();
        }
        let subject = behind.trim_start_matches('[');
        let length =
            subject.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$' | '.'))).unwrap_or(subject.len());
        out.push(Tag { name, ty, subject: &subject[..length], rest: all });
        rest = behind;
    }
    out
}

fn word(text: &str) -> &str {
    &text[..text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len())]
}

/// The brace that closes the first one.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_u32;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 || at > LONGEST {
            return (depth == 0).then_some(at);
        }
    }
    None
}

/// A type without the stars that its lines start with.
fn without_stars(text: &str) -> String {
    text.lines().map(|line| line.trim().trim_start_matches('*').trim()).collect::<Vec<_>>().join(" ")
}

fn is_parameter(tag: &Tag<'_>) -> bool {
    matches!(tag.name, "param" | "arg" | "argument")
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains('.')
}

/// `b` of `a.b`, where the owner is `a`.
fn behind<'t>(text: &'t str, owner: &str) -> Option<&'t str> {
    text.strip_prefix(owner)?.strip_prefix('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_have_a_type_and_a_subject() {
        let text = "*\n * Pays. Not a@param {X} y.\n * @param {import('stripe').Stripe} stripe - a client\n * @param {{a: {b: Stripe}}} [options={}] x\n * @returns {Promise<\n *   Stripe\n * >}\n * @type {Stripe}";
        let shown: Vec<_> = tags(text)
            .into_iter()
            .map(|tag| format!("{} {} {}", tag.name, tag.ty.unwrap_or_default(), tag.subject))
            .collect();
        assert_eq!(
            shown,
            [
                "param import('stripe').Stripe stripe",
                "param {a: {b: Stripe}} options",
                "returns Promise< Stripe > ",
                "type Stripe "
            ]
        );
    }

    #[test]
    fn braces_that_never_close_end_the_tag_alone() {
        assert_eq!(tags("* @type {{{{").len(), 0);
        assert_eq!(tags("* @type {").len(), 0);
        assert_eq!(tags("* @\n* @").len(), 2);
    }
}
