; Expressions that a client, a URL, or an argument's keys can pass through.

(call_expression function: (_) @_callee arguments: (_) @_arguments) @call
(variadic_argument (_) @_value) @spread
((composite_literal type: (_) @_callee body: (_)) @construct)

(selector_expression operand: (_) @_object field: (_) @_property) @member
(qualified_type package: (_) @_object name: (_) @_property) @member
(index_expression operand: (_) @_object) @index

[(interpreted_string_literal) (raw_string_literal)] @text
(binary_expression left: (_) @_left operator: "+" right: (_) @_right) @join

(parenthesized_expression (_) @_value) @same
(unary_expression operator: ["&" "*"] operand: (_) @_value) @same
(type_assertion_expression operand: (_) @_value type: (_) @_type) @cast
((expression_list) @list (#set! single))
(nil) @null

; Types.
(pointer_type (_) @_value) @same
(parenthesized_type (_) @_value) @same
(generic_type type: (_) @_value) @same
(parameter_list . (parameter_declaration type: (_) @_value)) @same
