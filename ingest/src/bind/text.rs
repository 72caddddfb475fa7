//! Texts that are put together: URLs, routes, methods and versions.

use super::changes::Change;
use super::eval::Evaluator;
use super::readings::{MOST_PIECES, MOST_READINGS, changed_url, has_places, or_nothing, places_of, products, unknown};
pub(super) use super::readings::{Piece, Start, Text, distinct, joined, known, path_parts, start, url};
use super::value::{FileId, Value};
use crate::language::Family;
use crate::parse::{Argument, BindingId, Expr, ExprId, Origin, ParsedFile, Step, TextPart, digest};

/// Texts in texts, followed this far.
const DEEPEST: u32 = 16;

impl Evaluator<'_, '_> {
    /// Every reading of a text; one of a single unknown piece where nothing is known.
    pub(super) fn texts_of(&mut self, file: FileId, expr: ExprId) -> Vec<Text> {
        self.readings(file, expr, 0)
    }

    /// The one known text that an expression is.
    pub(super) fn text_of(&mut self, file: FileId, expr: ExprId) -> Option<String> {
        match self.texts_of(file, expr).as_slice() {
            [text] => known(text),
            _ => None,
        }
    }

    fn readings(&mut self, file: FileId, expr: ExprId, depth: u32) -> Vec<Text> {
        if depth > DEEPEST || !self.may_look() {
            return unknown();
        }
        let world = self.world;
        let parsed = world.file(file).parsed;
        match parsed.expr(expr) {
            Expr::Text(name, _) => vec![vec![Piece::Known(parsed.name(*name).to_owned())]],
            Expr::Literal(Some(digest)) => match self.catalog.word(*digest) {
                Some(segment) => vec![vec![Piece::Known(segment.to_owned())]],
                None => unknown(),
            },
            Expr::Template(parts) if parts.len() > MOST_PIECES => unknown(),
            Expr::Template(parts) => {
                let mut all: Vec<Text> = vec![Vec::new()];
                for part in parts {
                    let pieces = match part {
                        TextPart::Text(name) => vec![vec![Piece::Known(parsed.name(*name).to_owned())]],
                        TextPart::Withheld => unknown(),
                        TextPart::Value(value) => self.readings(file, *value, depth + 1),
                    };
                    all = products(&all, &pieces);
                }
                all
            }
            Expr::Either(left, right) => {
                let sides = [*left, *right]
                    .map(|side| (!is_nothing(parsed, side)).then(|| self.readings(file, side, depth + 1)));
                let mut all = match sides {
                    [Some(left), Some(right)] => left.into_iter().chain(right).collect(),
                    [Some(one), None] | [None, Some(one)] => or_nothing(one),
                    [None, None] => vec![Vec::new()],
                };
                distinct(&mut all);
                all
            }
            Expr::Cast(value, _) | Expr::Guarded(value) | Expr::Await(value) => self.readings(file, *value, depth + 1),
            Expr::Binding(binding) => self.readings_of_name(file, *binding, expr, depth),
            Expr::Member(object, name) => {
                let name = parsed.name(*name);
                if self.is_environment(file, *object) {
                    return vec![vec![Piece::Environment]];
                }
                match self.expr(file, *object) {
                    Value::Object(there, object) => match self.option(there, object, name) {
                        Some((file, expr)) => self.readings(file, expr, depth + 1),
                        None => unknown(),
                    },
                    Value::Module(target) => match self.exported_text(target, name) {
                        Some((file, expr)) => self.readings(file, expr, depth + 1),
                        None => unknown(),
                    },
                    Value::Instance(there, class) => {
                        let mut classes = vec![(there, class)];
                        classes.extend(self.bases_of((there, class)));
                        let own = |(there, class)| (there, self.field(there, class, name, false));
                        let own = classes.into_iter().map(own).find(|(_, values)| !values.is_empty());
                        let (there, values) = own.unwrap_or_default();
                        self.readings_of_any(there, &values, depth)
                    }
                    Value::Class(there, class) => {
                        let values = self.field(there, class, name, true);
                        self.readings_of_any(there, &values, depth)
                    }
                    // `http.MethodPost`
                    Value::Http(http) => match self.catalog.http().library(http.library).constants.get(name) {
                        Some(text) => vec![vec![Piece::Known(text.clone())]],
                        None => unknown(),
                    },
                    // `new URL(…).href`
                    _ if name == "href" => self.readings(file, *object, depth + 1),
                    _ => unknown(),
                }
            }
            // `new URL(path, base)` and what it is turned into.
            Expr::Call { callee, arguments, construct: true, .. } => {
                let is_url = matches!(parsed.expr(*callee), Expr::Global(name) if parsed.name(*name) == "URL");
                if is_url { self.url(file, arguments, depth) } else { unknown() }
            }
            Expr::Call { call, callee, arguments, construct: false } => match parsed.expr(*callee) {
                // `TEMPLATE.format(…)`, `TEMPLATE % …`
                Expr::Member(object, name)
                    if matches!(parsed.name(*name), "format" | "%") && world.file(file).family == Family::Python =>
                {
                    let all = self.readings(file, *object, depth + 1);
                    let keywords = parsed.calls.get(*call as usize).and_then(|call| call.keywords);
                    self.formatted(file, &all, parsed.name(*name) == "%", (arguments, keywords), depth)
                }
                Expr::Member(object, name) if matches!(parsed.name(*name), "toString" | "trim" | "toJSON") => {
                    self.readings(file, *object, depth + 1)
                }
                // `"/v1/charges/:id".replace(":id", id)`: a path with places for what is not known is read as it is.
                Expr::Member(object, name) if matches!(parsed.name(*name), "replace" | "replaceAll") => {
                    let all = self.readings(file, *object, depth + 1);
                    if all.iter().all(has_places) { all } else { unknown() }
                }
                // `[BASE, "charges", id].join("/")`
                Expr::Member(list, name) if parsed.name(*name) == "join" => {
                    let Value::List(there, list) = self.expr(file, *list) else { return unknown() };
                    let separator = arguments.first().and_then(|it| self.text_of(file, it.value));
                    match (self.world.file(there).parsed.expr(list), separator) {
                        (Expr::Array(items), Some(separator)) => self.joined_items(there, items, &separator, depth),
                        _ => unknown(),
                    }
                }
                Expr::Global(name) if parsed.name(*name) == "String" => match arguments.first() {
                    Some(argument) => self.readings(file, argument.value, depth + 1),
                    None => unknown(),
                },
                _ => match self.expr(file, *callee) {
                    // A function that only puts a text together.
                    Value::Function(there, function) => {
                        let returns = &world.file(there).parsed.functions[function as usize].returns;
                        if arguments.is_empty() || self.frame_of(there, function).is_some() {
                            return self.readings_of_any(there, returns, depth);
                        }
                        self.inside((there, function), file, arguments, |this| {
                            this.readings_of_any(there, returns, depth)
                        })
                    }
                    _ => unknown(),
                },
            },
            _ => unknown(),
        }
    }

    /// Readings of texts of Python with places in them that arguments fill.
    fn formatted(
        &mut self,
        file: FileId,
        all: &[Text],
        by_percent: bool,
        (arguments, keywords): (&[Argument], Option<ExprId>),
        depth: u32,
    ) -> Vec<Text> {
        let mut filled = Vec::new();
        for text in all {
            let mut places = 0;
            let mut whole = Text::new();
            for piece in text {
                let Piece::Known(known) = piece else {
                    whole.push(piece.clone());
                    continue;
                };
                for part in places_of(known, by_percent) {
                    let field = match part {
                        Ok(text) => {
                            whole.push(Piece::Known(text));
                            continue;
                        }
                        Err(field) => field,
                    };
                    let named = keywords.filter(|_| !field.is_empty() && field.parse::<usize>().is_err());
                    let value = if let Some(keywords) = named {
                        self.option(file, keywords, &field)
                    } else {
                        let at = field.parse().unwrap_or(places);
                        places += 1;
                        arguments.get(at).filter(|argument| !argument.spread).map(|argument| (file, argument.value))
                    };
                    let readings = value.map_or_else(unknown, |(there, value)| self.readings(there, value, depth + 1));
                    match readings.as_slice() {
                        [one] => whole.extend(one.iter().cloned()),
                        _ => whole.push(Piece::Value),
                    }
                }
            }
            filled.push(whole);
        }
        distinct(&mut filled);
        filled
    }

    fn joined_items(&mut self, file: FileId, items: &[Argument], separator: &str, depth: u32) -> Vec<Text> {
        if items.len() > MOST_PIECES || items.iter().any(|item| item.spread) {
            return unknown();
        }
        let mut all: Vec<Text> = vec![Vec::new()];
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                all = products(&all, &[vec![Piece::Known(separator.to_owned())]]);
            }
            let pieces = self.readings(file, item.value, depth + 1);
            all = products(&all, &pieces);
        }
        all
    }

    /// Every reading of what may be any of several; of too many, nothing is known.
    fn readings_of_any(&mut self, file: FileId, values: &[ExprId], depth: u32) -> Vec<Text> {
        if values.is_empty() || values.len() > MOST_READINGS {
            return unknown();
        }
        let mut all = Vec::new();
        for value in values {
            all.extend(self.readings(file, *value, depth + 1));
        }
        distinct(&mut all);
        all
    }

    /// What a name may hold where it is used: what it was made with, and what is done to it since.
    fn readings_of_name(&mut self, file: FileId, binding: BindingId, used: ExprId, depth: u32) -> Vec<Text> {
        let parsed = self.world.file(file).parsed;
        let Some(it) = parsed.bindings.get(binding as usize) else { return unknown() };
        let mut all = self.initial_readings(file, binding, depth);
        // A default is for what is left out, and is that alone where nothing is given.
        let left_out = all.is_empty();
        let given = !left_out && !all.contains(&vec![Piece::Value]);
        if left_out {
            for default in it.writes.iter().filter(|write| write.fallback) {
                all.extend(self.readings(file, default.value, depth + 1));
            }
            if all.is_empty() {
                all = unknown();
            }
        }
        // `url = url + …`: what it is made of is what it was made with.
        if !self.reading.insert((file, binding)) {
            return all;
        }
        for write in it.writes.iter().filter(|write| !(write.fallback && (given || left_out))) {
            let added = self.readings(file, write.value, depth + 1);
            let next = if write.appends { products(&all, &added) } else { added };
            // What is assigned further down may have happened before, in a loop or by another function.
            if write.certain && write.value < used {
                all = next;
            } else {
                all.extend(next);
            }
            distinct(&mut all);
        }
        for change in self.changes_of_binding(file, binding) {
            let Change::Member(path, write) = change else { return self.done_reading(file, binding, unknown()) };
            let value = self.readings(file, write.value, depth + 1);
            let next = match path.as_slice() {
                [Some(name)] => changed_url(&all, parsed.name(*name), &value, write.appends),
                // `url.searchParams.x = …` is no address; `url[name] = …` may be any part of it.
                [None] => Some(unknown()),
                _ => None,
            };
            let Some(next) = next else { continue };
            if write.certain && write.value < used {
                all = next;
            } else {
                all.extend(next);
            }
            distinct(&mut all);
        }
        self.done_reading(file, binding, all)
    }

    fn done_reading(&mut self, file: FileId, binding: BindingId, all: Vec<Text>) -> Vec<Text> {
        self.reading.remove(&(file, binding));
        all
    }

    fn initial_readings(&mut self, file: FileId, binding: BindingId, depth: u32) -> Vec<Text> {
        let world = self.world;
        let parsed = world.file(file).parsed;
        let Some(it) = parsed.bindings.get(binding as usize) else { return unknown() };
        match &it.origin {
            Origin::Parameter(function, at, steps) => {
                if let (Some(default), true) = (self.defaulted(file, *function, *at), steps.is_empty()) {
                    return self.readings(file, default, depth + 1);
                }
                let Some(given) = self.argument(file, *function, *at) else {
                    let it = parsed.functions.get(*function as usize).and_then(|it| it.parameters.get(*at as usize));
                    let Some(default) = it.and_then(|it| it.default).filter(|_| steps.is_empty()) else {
                        return unknown();
                    };
                    // Nobody is looked at who gives something else; what it is where nobody does is provable.
                    let mut all = self.readings(file, default, depth + 1);
                    all.extend(unknown());
                    distinct(&mut all);
                    return all;
                };
                let Some(names) = member_names(parsed, steps) else { return unknown() };
                self.outside(&given, |this| {
                    if names.is_empty() {
                        return this.readings(given.file, given.expr, depth + 1);
                    }
                    if this.has_no_key(given.file, given.expr, &names) {
                        return Vec::new();
                    }
                    this.readings_of_option(given.file, given.expr, &names.join("."), depth)
                })
            }
            Origin::Value(value, steps) => {
                let Some(names) = member_names(parsed, steps) else { return unknown() };
                if names.is_empty() {
                    return self.readings(file, *value, depth + 1);
                }
                self.readings_of_option(file, *value, &names.join("."), depth)
            }
            Origin::Import { specifier, name } => {
                let Some(target) = world.file(file).targets.get(specifier) else { return unknown() };
                match self.exported_text(*target, parsed.name(*name)) {
                    Some((file, expr)) => self.readings(file, expr, depth + 1),
                    None => unknown(),
                }
            }
            _ => unknown(),
        }
    }

    /// Every reading of what an object, or any of several, has under a key.
    fn readings_of_option(&mut self, file: FileId, object: ExprId, key: &str, depth: u32) -> Vec<Text> {
        let found = self.options(file, object, key);
        if found.changed || found.values.len() < 2 {
            return match self.option(file, object, key) {
                Some((file, value)) => self.readings(file, value, depth + 1),
                None => unknown(),
            };
        }
        if found.values.len() > MOST_READINGS {
            return unknown();
        }
        let mut all = Vec::new();
        for (there, value) in found.values {
            all.extend(self.readings(there, value, depth + 1));
        }
        distinct(&mut all);
        all
    }

    /// Whether an object that is shown has no such key.
    fn has_no_key(&mut self, file: FileId, object: ExprId, names: &[&str]) -> bool {
        let [name] = names else { return false };
        if self.object(file, object).is_none() {
            return false;
        }
        let options = self.options(file, object, name);
        options.values.is_empty() && !options.hidden
    }

    fn url(&mut self, file: FileId, arguments: &[Argument], depth: u32) -> Vec<Text> {
        let Some(path) = arguments.first() else { return unknown() };
        let paths = self.readings(file, path.value, depth + 1);
        let Some(base) = arguments.get(1) else { return paths };
        let mut all = Vec::new();
        for path in &paths {
            if matches!(path.first(), Some(Piece::Known(text)) if text.contains("://")) {
                all.push(path.clone());
                continue;
            }
            for base in self.readings(file, base.value, depth + 1) {
                // A path from the root replaces the base's own.
                let Some(Piece::Known(text)) = base.first() else { return unknown() };
                let Some(rooted) = path.first() else { continue };
                let Some(origin_end) = text.find("://").map(|at| at + 3) else { return unknown() };
                let mut url = match rooted {
                    Piece::Known(rooted) if rooted.starts_with('/') => {
                        let end = text[origin_end..].find('/').map_or(text.len(), |at| origin_end + at);
                        vec![Piece::Known(text[..end].to_owned())]
                    }
                    Piece::Known(_) if text.ends_with('/') => base.clone(),
                    // Whatever it is, it leads on from the base's host unless it names one of its own.
                    Piece::Value | Piece::Rest if path.len() == 1 => {
                        let end = text[origin_end..].find('/').map_or(text.len(), |at| origin_end + at);
                        all.push(vec![Piece::Known(format!("{}/", &text[..end])), Piece::Rest]);
                        continue;
                    }
                    _ => return unknown(),
                };
                url.extend(path.iter().cloned());
                all.push(url);
            }
        }
        distinct(&mut all);
        all
    }

    pub(super) fn exported_text(&mut self, file: FileId, name: &str) -> Option<(FileId, ExprId)> {
        use crate::parse::ExportValue;
        let definition = self.world.definition(file, name)?;
        let there = self.world.file(definition.file);
        match self.world.export(definition) {
            ExportValue::Expr(expr) => Some((definition.file, expr)),
            ExportValue::Binding(binding) => {
                let it = there.parsed.bindings.get(binding as usize)?;
                match &it.origin {
                    Origin::Value(expr, steps) if steps.is_empty() && it.writes.is_empty() => {
                        Some((definition.file, *expr))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Everything that a field may hold.
    fn field(&mut self, file: FileId, class: u32, name: &str, is_static: bool) -> Vec<ExprId> {
        use crate::parse::MemberKind;
        let parsed = self.world.file(file).parsed;
        let Some(it) = parsed.classes.get(class as usize) else { return Vec::new() };
        let mut values: Vec<ExprId> = it
            .members
            .iter()
            .filter(|member| member.is_static == is_static && parsed.name(member.name) == name)
            .filter_map(|member| match member.kind {
                MemberKind::Field(_, value) => value,
                MemberKind::Getter(function) => match parsed.functions.get(function as usize)?.returns.as_slice() {
                    [value] => Some(*value),
                    _ => None,
                },
                MemberKind::Method(_) => None,
            })
            .collect();
        let assigned = if is_static { &[][..] } else { it.assigned.as_slice() };
        values.extend(assigned.iter().filter(|(key, _)| parsed.name(*key) == name).map(|(_, value)| *value));
        values
    }

    /// Whether an expression is `process.env`, `import.meta.env` or a validated copy of it.
    pub(super) fn is_environment(&mut self, file: FileId, expr: ExprId) -> bool {
        let parsed = self.world.file(file).parsed;
        match parsed.expr(expr) {
            Expr::Member(object, name) => {
                parsed.name(*name) == "env"
                    && matches!(parsed.expr(*object), Expr::Global(global) if matches!(parsed.name(*global), "process" | "Bun"))
            }
            Expr::Binding(binding) => {
                let Some(it) = parsed.bindings.get(*binding as usize) else { return false };
                match &it.origin {
                    Origin::Value(value, steps) if steps.is_empty() => {
                        let value = *value;
                        // One level: `const env = process.env`.
                        matches!(parsed.expr(value), Expr::Member(..)) && self.is_environment(file, value)
                    }
                    _ => false,
                }
            }
            _ => false,
        }
    }

    /// Whether an expression is a value of the environment.
    pub(super) fn has_environment(&mut self, file: FileId, expr: ExprId) -> bool {
        self.texts_of(file, expr).iter().any(|text| text.contains(&Piece::Environment))
    }
}

/// Whether an expression is a text without anything in it.
pub(super) fn is_nothing(parsed: &ParsedFile, expr: ExprId) -> bool {
    matches!(parsed.expr(expr), Expr::Literal(Some(text)) if *text == digest(""))
}

/// The names of a destructuring pattern that only goes into members.
fn member_names<'f>(parsed: &'f ParsedFile, steps: &[Step]) -> Option<Vec<&'f str>> {
    steps
        .iter()
        .map(|step| match step {
            Step::Member(name) => Some(parsed.name(*name)),
            _ => None,
        })
        .collect()
}
