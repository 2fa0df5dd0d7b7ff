// SPDX-License-Identifier: BSD-3-Clause
// Runs a Jenkinsfile without Jenkins: `groovy jenkins.groovy JENKINSFILE`. The declarative pipeline's sections know the
// directives that Jenkins's documentation has in them, as far as ours uses them, and nothing else; `sh` is real.
// The last line of the output is the result, as Jenkins names it.

import org.codehaus.groovy.control.CompilerConfiguration

class Build {
    static String result = 'SUCCESS'
    static Map<String, String> parameters = [:]
    static List<String> log = []
}

class Section {
    static void run(Closure body, Section section) {
        body.delegate = section
        body.resolveStrategy = Closure.DELEGATE_ONLY
        body()
    }

    def methodMissing(String name, Object arguments) {
        throw new IllegalArgumentException("${getClass().simpleName} has no ${name}")
    }

    def propertyMissing(String name) {
        throw new IllegalArgumentException("${getClass().simpleName} has no ${name}")
    }

    static void require(Map given, List<String> known, String what) {
        def unknown = given.keySet() - known
        if (unknown) { throw new IllegalArgumentException("${what} has no ${unknown}") }
    }
}

class Whole extends Section {
    void agent(Closure body) { run(body, new Agent()) }
    void triggers(Closure body) { run(body, new Triggers()) }
    void options(Closure body) { run(body, new Options()) }
    void parameters(Closure body) { run(body, new Parameters()) }
    void stages(Closure body) { Jenkins.stages = body }
    void post(Closure body) { Jenkins.post = body }
}

class Agent extends Section { void label(String name) { Build.log << "agent ${name}".toString() } }

class Triggers extends Section { void cron(String schedule) { Build.log << "cron ${schedule}".toString() } }

class Options extends Section {
    void disableConcurrentBuilds(Map given = [:]) { require(given, ['abortPrevious'], 'disableConcurrentBuilds') }
    void timeout(Map given) { require(given, ['time', 'unit', 'activity'], 'timeout') }
    void buildDiscarder(Object strategy) { }
    Object logRotator(Map given) {
        require(given, ['numToKeepStr', 'daysToKeepStr', 'artifactNumToKeepStr', 'artifactDaysToKeepStr'], 'logRotator')
    }
}

class Parameters extends Section {
    void choice(Map given) {
        require(given, ['name', 'choices', 'description'], 'choice')
        Build.parameters[given.name] = given.choices[0]
    }
    void string(Map given) {
        require(given, ['name', 'defaultValue', 'description', 'trim'], 'string')
        Build.parameters[given.name] = given.defaultValue
    }
}

class Stages extends Section { void stage(String name, Closure body) { run(body, new Stage()) } }

class Stage extends Section { void steps(Closure body) { run(body, new Steps()) } }

class Steps extends Section {
    void script(Closure body) { run(body, this) }

    Object sh(Map given) {
        require(given, ['script', 'returnStatus', 'returnStdout', 'label', 'encoding'], 'sh')
        def builder = new ProcessBuilder('sh', '-xe', '-c', given.script.toString()).inheritIO()
        Build.parameters.each { name, value -> builder.environment().putIfAbsent(name, value) }
        int status = builder.start().waitFor()
        if (given.returnStatus) { return status }
        if (status != 0) { error("script returned exit code ${status}") }
        return null
    }

    void unstable(String message) { Build.result = 'UNSTABLE'; println "unstable: ${message}" }
    void error(String message) { throw new RuntimeException(message) }
    void archiveArtifacts(Map given) {
        require(given, ['artifacts', 'allowEmptyArchive', 'fingerprint', 'excludes', 'onlyIfSuccessful'], 'archiveArtifacts')
        Build.log << "archive ${given.artifacts}".toString()
    }
    void junit(Map given) {
        require(given, ['testResults', 'allowEmptyResults', 'skipMarkingBuildUnstable', 'skipPublishingChecks'], 'junit')
        Build.log << "junit ${given.testResults}".toString()
    }
}

class Post extends Section { void always(Closure body) { run(body, new Steps()) } }

abstract class Jenkins extends Script {
    static Closure stages, post
    void pipeline(Closure body) {
        try {
            Section.run(body, new Whole())
            Section.run(stages, new Stages())
        } catch (RuntimeException failure) {
            if (failure instanceof IllegalArgumentException) { throw failure }
            Build.result = 'FAILURE'
            println "error: ${failure.message}"
        }
        if (post) { Section.run(post, new Post()) }
    }
}

def configuration = new CompilerConfiguration(scriptBaseClass: Jenkins.name)
new GroovyShell(this.class.classLoader, new Binding(), configuration).evaluate(new File(args[0]))
Build.log.each { println it }
println Build.result
