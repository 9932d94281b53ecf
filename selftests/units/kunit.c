// SPDX-License-Identifier: GPL-2.0-only
/* Runs a suite of unit tests in user space. Prints TAP. */
#include <setjmp.h>
#include <stdlib.h>

#include <kunit/test.h>

/* What a case does at its end, the last first. */
static struct action {
	struct action *next;
	void (*run)(void *argument);
	void *argument;
} *actions;
static jmp_buf ended;
static unsigned int failures;

int kunit_add_action_or_reset(struct kunit *test, void (*run)(void *), void *argument)
{
	struct action *action = malloc(sizeof(*action));

	(void)test;
	*action = (struct action){ actions, run, argument };
	actions = action;
	return 0;
}

void *kunit_kmalloc(struct kunit *test, size_t size, gfp_t gfp)
{
	void *memory = kmalloc(size, gfp);

	kunit_add_action_or_reset(test, free, memory);
	return memory;
}

void *kunit_kzalloc(struct kunit *test, size_t size, gfp_t gfp)
{
	return memset(kunit_kmalloc(test, size, gfp), 0, size);
}

void ue_unit_failed(const char *file, int line, bool end, const char *what, const char *fmt, ...)
{
	va_list arguments;

	printf("# %s:%d: %s", file, line, what);
	va_start(arguments, fmt);
	vprintf(fmt, arguments);
	va_end(arguments);
	putchar('\n');
	failures++;
	if (end)
		longjmp(ended, 1);
}

static void run_once(const struct kunit_case *unit, const void *parameter)
{
	struct kunit test = { parameter };

	if (!setjmp(ended))
		unit->run(&test);
	while (actions) {
		struct action *action = actions;

		actions = action->next;
		action->run(action->argument);
		free(action);
	}
}

static void run_case(const struct kunit_case *unit)
{
	char description[KUNIT_PARAM_DESC_SIZE] = "";
	const void *parameter = NULL;

	if (!unit->next_param) {
		run_once(unit, NULL);
		return;
	}
	while ((parameter = unit->next_param(parameter, description))) {
		const unsigned int before = failures;

		run_once(unit, parameter);
		if (failures != before)
			printf("# with: %s\n", description);
	}
}

int main(void)
{
	unsigned int nr = 0, failed = 0;

	for (const struct kunit_case *unit = ue_suite->test_cases; unit->run; unit++) {
		failures = 0;
		run_case(unit);
		failed += !!failures;
		printf("%sok %u - %s: %s\n", failures ? "not " : "", ++nr, ue_suite->name, unit->name);
	}
	printf("1..%u\n", nr);
	return failed || !nr;
}
