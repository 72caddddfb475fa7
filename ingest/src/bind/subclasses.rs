//! What a class makes of the class that it extends: with the arguments of its own `super(…)`.

use rustc_hash::FxHashMap;

use super::callers::MOST_BASES;
use super::eval::Evaluator;
use super::value::{FileId, Value};
use crate::catalog::ClientOptions;
use crate::parse::{Argument, ClassId, Expr, ExprId, FunctionId, MemberKind, ParsedFile};

/// Fields of a class that are looked at.
const MOST_FIELDS: usize = 32;

impl Evaluator<'_, '_> {
    /// The client that an instance of a class is which extends a vendor's: of the options that its `super(…)` gives.
    /// Where it is made by whoever makes the class, a package that others than its vendor answer as well may be pointed
    /// anywhere, and so may one of which the class says its own address.
    pub(super) fn made_by_subclass(&mut self, base: &Value, file: FileId, class: ClassId, extends: ExprId) -> Value {
        let call = self.super_call(file, class);
        let made = self.instance(base, file, call.unwrap_or(extends));
        for vendor in made.vendors() {
            let options = &self.catalog.package_of(self.catalog.shape(vendor.shape).package).client_options;
            let is_hidden = call.is_none() && options.spoken_elsewhere;
            if let Some(client) = vendor.client
                && !options.any_host
                && (is_hidden || self.sends_elsewhere(options, file, class))
            {
                self.clients.hide(client);
            }
        }
        made
    }

    /// Whether a class says its own address, or has something in the place of what makes its requests.
    fn sends_elsewhere(&mut self, options: &ClientOptions, file: FileId, class: ClassId) -> bool {
        let parsed = self.world.file(file).parsed;
        let Some(it) = parsed.classes.get(class as usize) else { return false };
        if options.base_url.iter().any(|name| self.has_field(file, class, name)) {
            return true;
        }
        it.members.iter().filter(|member| !member.is_static).any(|member| {
            let name = parsed.name(member.name);
            match member.kind {
                MemberKind::Getter(_) => options.base_url.iter().any(|key| key == name),
                MemberKind::Method(function) => {
                    options.requests.iter().any(|key| key == name) && !self.hands_on(file, function, 0)
                }
                MemberKind::Field(_, value) => {
                    options.requests.iter().any(|key| key == name)
                        && value.is_none_or(|value| self.may_redirect(file, value))
                }
            }
        })
    }

    /// A member that a class has of the one that it extends, where that is given what it holds: of several classes that
    /// give it different clients, the one that this class gives.
    pub(super) fn as_this_class_gives_it(
        &mut self,
        member: Value,
        base: &Value,
        name: &str,
        (file, class): (FileId, ClassId),
    ) -> Value {
        let &Value::Instance(there, extended) = base else { return member };
        let may_be_given = match member {
            Value::Unknown => self.has_field(there, extended, name),
            _ => member.vendors().next().is_some(),
        };
        if !may_be_given {
            return member;
        }
        let Some(call) = self.super_call(file, class) else { return member };
        let Expr::Call { arguments, .. } = self.world.file(file).parsed.expr(call) else { return member };
        if arguments.iter().any(|argument| argument.spread) {
            return member;
        }
        let Some(constructor) = self.constructor_of(there, extended) else { return member };
        let given = self.inside(constructor, file, arguments, |this| this.member(base, name));
        if given.vendors().next().is_some() { given } else { member }
    }

    /// The class of `this` in a class: that, or one that extends it while a method is looked into that is called on such.
    pub(super) fn this_in(&mut self, file: FileId, class: ClassId) -> (FileId, ClassId) {
        let frames = std::iter::successors(self.frame.clone(), |frame| frame.outer.clone());
        let called_on: Vec<_> = frames.filter_map(|frame| frame.this).collect();
        let is_one = |this: &(FileId, ClassId)| self.bases_of(*this).contains(&(file, class));
        called_on.into_iter().find(is_one).unwrap_or((file, class))
    }

    /// The classes that a class extends, the nearest first.
    pub(super) fn bases_of(&mut self, (file, class): (FileId, ClassId)) -> Vec<(FileId, ClassId)> {
        let mut bases = Vec::new();
        let (mut there, mut at) = (file, class);
        while bases.len() < MOST_BASES {
            let Some(it) = self.world.file(there).parsed.classes.get(at as usize) else { break };
            let Some(extends) = it.extends else { break };
            let Value::Class(base_file, base) = self.expr(there, extends) else { break };
            bases.push((base_file, base));
            (there, at) = (base_file, base);
        }
        bases
    }

    /// The class of what a method is called on.
    pub(super) fn receiver(&mut self, file: FileId, call: ExprId) -> Option<(FileId, ClassId)> {
        let parsed = self.world.file(file).parsed;
        let Expr::Call { callee, construct: false, .. } = parsed.expr(call) else { return None };
        let Expr::Member(object, _) = *parsed.expr(*callee) else { return None };
        match self.expr(file, object) {
            Value::Instance(there, class) => Some((there, class)),
            _ => None,
        }
    }

    /// Looks into a method that is called on an instance of a class, which its `super(…)` has made.
    pub(super) fn inside_method<T>(
        &mut self,
        this: Option<(FileId, ClassId)>,
        method: (FileId, FunctionId),
        caller: FileId,
        arguments: &[Argument],
        ask: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let made = this.and_then(|(file, class)| {
            let call = self.super_call(file, class)?;
            let Expr::Call { arguments, .. } = self.world.file(file).parsed.expr(call) else { return None };
            let (there, base) = *self.bases_of((file, class)).first()?;
            Some((self.constructor_of(there, base)?, file, arguments))
        });
        match made {
            Some((constructor, file, given)) => self.inside(constructor, file, given, |this_evaluator| {
                this_evaluator.inside_of(this, method, caller, arguments, ask)
            }),
            None => self.inside_of(this, method, caller, arguments, ask),
        }
    }

    /// Whether a class, or what its `super(…)` gives, names an address of a vendor.
    pub(super) fn is_of_a_vendor(&mut self, this: (FileId, ClassId)) -> bool {
        let mut classes = vec![this];
        classes.extend(self.bases_of(this));
        classes.into_iter().any(|(file, class)| {
            let parsed = self.world.file(file).parsed;
            let Some(it) = parsed.classes.get(class as usize) else { return false };
            let fields = it.members.iter().filter_map(|member| match member.kind {
                MemberKind::Field(_, value) => value,
                MemberKind::Method(_) | MemberKind::Getter(_) => None,
            });
            let mut values: Vec<_> = fields.chain(it.assigned.iter().map(|(_, value)| *value)).collect();
            if let Some(call) = self.super_call(file, class)
                && let Expr::Call { arguments, .. } = parsed.expr(call)
            {
                values.extend(arguments.iter().map(|argument| argument.value));
            }
            values.into_iter().take(MOST_FIELDS).any(|value| self.is_address_of_vendor(file, value, 0))
        })
    }

    fn has_field(&self, file: FileId, class: ClassId, name: &str) -> bool {
        let parsed = self.world.file(file).parsed;
        let Some(it) = parsed.classes.get(class as usize) else { return false };
        let is_field = |kind: MemberKind| matches!(kind, MemberKind::Field(..));
        let mut fields = it.members.iter().filter(|member| !member.is_static && is_field(member.kind));
        fields.any(|member| parsed.name(member.name) == name)
            || it.assigned.iter().any(|(key, _)| parsed.name(*key) == name)
    }

    /// The call by which a class makes the part of it that the class which it extends makes.
    fn super_call(&mut self, file: FileId, class: ClassId) -> Option<ExprId> {
        let parsed = self.world.file(file).parsed;
        self.supers.entry(file).or_insert_with(|| super_calls(parsed)).get(&class).copied()
    }
}

/// The `super(…)` of the classes of a file.
pub(super) fn super_calls(parsed: &ParsedFile) -> FxHashMap<ClassId, ExprId> {
    let mut supers = FxHashMap::default();
    for call in &parsed.calls {
        if let Expr::Call { callee, .. } = parsed.expr(call.expr)
            && let Expr::Super(Some(class)) = *parsed.expr(*callee)
        {
            supers.insert(class, call.expr);
        }
    }
    supers
}
