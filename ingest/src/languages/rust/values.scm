; Expressions that a client, a URL, or an argument's keys can pass through.

(call_expression function: (_) @_callee arguments: (_) @_arguments) @call
(generic_function function: (_) @_value) @same
(struct_expression name: (_) @_callee) @construct

(field_expression value: (_) @_object field: (_) @_property) @member
(scoped_identifier path: (_) @_object name: (_) @_property) @member
(scoped_type_identifier path: (_) @_object name: (_) @_property) @member
(index_expression . (_) @_object) @index

[(string_literal) (raw_string_literal)] @text
(macro_invocation macro: [(identifier) (scoped_identifier)] (token_tree)) @special
(binary_expression left: (_) @_left operator: "+" right: (_) @_right) @join

(reference_expression value: (_) @_value) @same
(unary_expression (_) @_value) @same
(parenthesized_expression (_) @_value) @same
(type_cast_expression value: (_) @_value) @same
(try_expression (_) @_value) @await
(await_expression (_) @_value) @await
[(array_expression) (tuple_expression)] @list

; Types.
(generic_type type: (_) @_name type_arguments: (type_arguments . (_) @_value)) @apply
(reference_type type: (_) @_value) @same
(dynamic_type trait: (_) @_value) @same
(abstract_type trait: (_) @_value) @same
